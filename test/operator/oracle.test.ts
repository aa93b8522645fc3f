// What console, API, CSV and metrics say of broadcasts is what a plain count over their rows gives: in every state, at several moments
// of the clock, from one store. The test keeps rows of its own, changes them as it changes the store's, and counts them; nothing of what
// it tests helps it. A name that is shown, and that it does not count, fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ShownFigure } from '../../src/operator/console/figures.ts';
import { describeRoutes } from '../../src/http/description/openapi-document.ts';
import { operatorDescription } from '../../src/operator/api/add-api.ts';
import { csvHeader } from '../../src/operations/outcomes.ts';
import { settlements } from '../../src/store/broadcasts.ts';
import { decode, signIn, type Visitor } from './console-visitor.ts';
import { figureOracle } from './oracle/figures.ts';
import {
  alarmsOf,
  asksReceipts,
  count,
  type Fate,
  heldBackOf,
  hosts,
  hourMs,
  iso,
  isOf,
  isOver,
  isPending,
  isSettlement,
  isStored,
  type Json,
  nextPartOf,
  noonMs,
  ofCause,
  ofOutcome,
  type Oracle,
  originsOf,
  reports,
  type Row,
  saidBy,
  stateOf,
  stateOfRow,
  type Story,
  waitsOf,
  windows,
  World,
} from './oracle/world.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

// The oracle: for each name, a count over rows.

/** By the names of the API's description; what is stored as it was asked for is compared as well. */
const broadcastOracle: Readonly<Record<string, Oracle>> = {
  id: ({ id }) => id,
  state: stateOf,
  createdBy: () => ({ operator: 'ada' }),
  recipients: (story) => story.rows.length,
  inactive: ({ inactive }) => inactive,
  leftOut: ({ leftOut }) => {
    const reasons = new Set(leftOut.map(({ outcome }) => outcome));
    return Object.fromEntries(
      [...reasons].map((reason) => [reason, leftOut.filter(({ outcome }) => outcome === reason).length]),
    );
  },
  counts: (story, world) => ({
    ...Object.fromEntries(settlements.map((name) => [name, ofOutcome(name)(story, world)])),
    pending: ofOutcome('pending')(story, world),
    removed: ofOutcome('removed')(story, world),
    unaccounted: 0,
    cancelled: ofOutcome('cancelled')(story, world),
  }),
  waiting: (story, world) =>
    (['retry', 'turn', 'pushService'] as const).reduce((sum, cause) => sum + ofCause(story, world, cause), 0),
  toRetry: (story, world) => ofCause(story, world, 'retry'),
  heldBack: heldBackOf,
  waits: waitsOf,
  nextPartAt: nextPartOf,
  reachedShare: (story, world) =>
    story.rows.length === 0 ? undefined : (ofOutcome('accepted')(story, world) as number) / story.rows.length,
  origins: (story) =>
    originsOf(story).map((origin) => {
      const rows = story.rows.filter((row) => row.origin === origin);
      return {
        origin,
        attempts: rows.reduce((sum, { posts }) => sum + posts, 0),
        ...Object.fromEntries(
          settlements.map((name) => [name, rows.filter(({ outcome }) => outcome === name).length]),
        ),
      };
    }),
  alarms: (story) =>
    alarmsOf(story).map(({ firstAtMs, ...alarm }) => ({ ...alarm, firstAt: iso(firstAtMs) })),
  receipts: (story) =>
    asksReceipts(story)
      ? originsOf(story)
          .map((origin) => ({
            origin,
            shown: reports(story, 'shown', origin),
            clicked: reports(story, 'clicked', origin),
            dismissed: 0,
            actions: {},
          }))
          .filter(({ shown, clicked }) => shown + clicked > 0)
      : undefined,
  receiptTotals: (story, world) => {
    if (!asksReceipts(story)) return undefined;
    const accepted = ofOutcome('accepted')(story, world) as number;
    const [shown, clicked] = [reports(story, 'shown'), reports(story, 'clicked')];
    const shareOf = (reported: number) => (accepted === 0 ? undefined : reported / accepted);
    return { shown, shownShare: shareOf(shown), clicked, clickedShare: shareOf(clicked), dismissed: 0 };
  },
  reachTimes: (story) => {
    const all = count(story, ({ outcome }) => outcome !== 'removed');
    const times = story.rows
      .filter(({ outcome }) => outcome === 'accepted')
      .map(({ atMs }) => atMs!)
      .toSorted((one, other) => one - other);
    return [50, 95, 99].map((percent) => {
      const last = times[Math.ceil((all * percent) / 100) - 1];
      return { percent, reachedAtMs: all === 0 ? undefined : last };
    });
  },
  createdAt: ({ createdAtMs }) => iso(createdAtMs),
  startAt: ({ startAtMs }) => iso(startAtMs),
  expiresAt: ({ expiresAtMs }) => iso(expiresAtMs),
  finishedAt: (story) => story.endedAtMs && iso(story.endedAtMs),
  title: () => 'Hello',
  audience: ({ draft }) => draft.matching ?? 'all',
  texts: ({ draft, rows }, world) =>
    draft.texts && [
      {
        language: 'de',
        recipients: rows.filter(
          ({ id }) => world.people.find((person) => person.id === id)!.language === 'de',
        ).length,
      },
    ],
  idempotencyKey: () => undefined,
  ttlSeconds: ({ draft }) => draft.ttlSeconds,
  urgency: ({ draft }) => draft.urgency,
  ...Object.fromEntries(
    (['topic', 'priority', 'perPerson', 'localTime', 'ifTimePassed', 'quietHours', 'timeZone'] as const).map(
      (name) => [name, ({ draft }: Story) => draft[name]],
    ),
  ),
  skipInactive: ({ inactive }) => (inactive === undefined ? undefined : 1),
  channel: ({ name }) => (name === 'a channel' ? 'news' : undefined),
};

/** The interval that a moment is counted in makes a time less exact: it must hold the moment. */
function withoutReachTimes(shown: Json, expected: Json, { startAtMs }: Story): readonly [Json, Json] {
  const pairs = expected['reachTimes'] as readonly { percent: number; reachedAtMs?: number }[];
  const times = shown['reachTimes'] as readonly {
    percent: number;
    seconds?: number;
    precisionSeconds?: number;
  }[];
  for (const [index, { percent, reachedAtMs }] of pairs.entries()) {
    const { seconds, precisionSeconds = 0, ...time } = times[index]!;
    assert.equal(time.percent, percent);
    assert.equal(seconds === undefined, reachedAtMs === undefined, `${percent} %`);
    if (seconds === undefined || reachedAtMs === undefined) continue;
    const exact = (reachedAtMs - startAtMs) / 1000;
    assert.ok(seconds >= exact && seconds - precisionSeconds <= exact, `${percent} %: ${seconds}, ${exact}`);
  }
  return [
    { ...shown, reachTimes: 0 },
    { ...expected, reachTimes: 0 },
  ];
}

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

const isWaiting = (row: Row, world: World): boolean =>
  stateOfRow(row, world) === 'waiting' || (row.outcome === 'dormant' && row.untilMs !== undefined);

/** By the columns of the CSV. */
const csvOracle: Readonly<Record<string, (row: Row, story: Story, world: World) => string | number>> = {
  subscription: ({ id }) => id,
  user: (row, _story, world) => (isStored(row, world) ? (row.user ?? '') : ''),
  push_service: (row, _story, world) =>
    row.posts > 0 || isSettlement(row.outcome) || isStored(row, world) ? row.origin : '',
  state: (row, _story, world) => stateOfRow(row, world),
  status: ({ status }) => status ?? '',
  reason: (row) => (row.outcome === 'rejected' ? saidBy.rejected.reason : ''),
  answer: (row) => (row.outcome === 'rejected' ? saidBy.rejected.detail : ''),
  attempts: ({ tries }) => tries,
  last_attempt_at: ({ atMs }) => (atMs === undefined ? '' : iso(atMs)),
  waits_for: (row, _story, world) => (isWaiting(row, world) ? row.cause : ''),
  waits_until: (row, _story, world) =>
    isWaiting(row, world) && row.untilMs !== undefined ? iso(row.untilMs) : '',
  expires_at: (row, _story, world) => (isWaiting(row, world) ? iso(row.expiresAtMs) : ''),
  reported: (row, story, world) => {
    if (!asksReceipts(story)) return '';
    if (!isStored(row, world)) return 'noLongerKept';
    return [story.shown.has(row.id) && 'shown', story.clicked.has(row.id) && 'clicked']
      .filter(Boolean)
      .join(' ');
  },
  deletion_held_since: ({ id }, _story, { people }) => {
    const { isStored: is, heldSinceMs } = people.find((person) => person.id === id)!;
    return is && heldSinceMs !== undefined ? iso(heldSinceMs) : '';
  },
};

const running = (world: World): readonly Story[] =>
  world.stories.filter((story) => stateOf(story, world) === 'running');
const sumOf = (stories: readonly Story[], figure: (story: Story) => number): number =>
  stories.reduce((sum, story) => sum + figure(story), 0);

/** Those of the store; the others are of a process or a machine. */
const metricsOracle: Readonly<
  Record<string, (world: World, labels: Readonly<Record<string, string>>) => number>
> = {
  messages_total: ({ stories }, { origin, outcome }) =>
    sumOf(stories, (story) =>
      // a counter: that a row waited outside is counted even if it is settled later
      count(
        story,
        (row) => isOf(row, origin) && (outcome === 'dormant' ? row.wasOutside : row.outcome === outcome),
      ),
    ),
  attempts_total: ({ stories }, { origin }) =>
    sumOf(stories, ({ rows }) => rows.reduce((sum, row) => sum + (isOf(row, origin) ? row.posts : 0), 0)),
  broadcast_pending_rows: (world) => sumOf(running(world), (story) => count(story, isPending)),
  broadcast_sendable_rows: (world) => sumOf(running(world), (story) => ofCause(story, world, 'now')),
  retries_waiting: (world) => sumOf(running(world), (story) => ofCause(story, world, 'retry')),
  rows_held_back: (world) => sumOf(running(world), (story) => ofCause(story, world, 'pushService')),
  subscriptions: ({ people }) => people.filter((person) => person.isStored).length,
  push_service_held: (world, { origin }) =>
    Number(
      world.stories.some(({ rows }) => rows.some((row) => row.cause === 'pushService' && isOf(row, origin))),
    ),
};

/** Of a process, of a machine, or of parts of the store that this test leaves empty: 0 if they have a value. */
const otherMetrics =
  /^(breaker_open|broadcast_alarms|broadcast_late_seconds|alarms|schedule_late_seconds|webhook_\w+|held_deletions|senders|registrations_total|disk_\w+|subscription_limit|certificate_\w+|last_backup_\w+|lease_lost_total|push_request_duration_seconds\w*|commit_duration_seconds\w*)$/;

/** By the labels of the tiles of a broadcast's page. */
const tilesOracle = (story: Story, world: World): Json => {
  const { counts, ...others } = Object.fromEntries(
    Object.entries(broadcastOracle).map(([name, figure]) => [name, figure(story, world)]),
  ) as Json & { readonly counts: Readonly<Record<string, number>> };
  const total = others['receiptTotals'] as Readonly<Record<string, number>> | undefined;
  const tiles: Record<string, string> = {};
  for (const [name, value] of Object.entries(counts)) if (value !== 0) tiles[capital(name)] = String(value);
  if (story.inactive !== undefined) tiles['Left out'] = String(story.inactive);
  const { channelOff, timePassed } = others['leftOut'] as Readonly<Record<string, number>>;
  if (channelOff !== undefined) tiles['Left out: channel off'] = String(channelOff);
  if (timePassed !== undefined) tiles['Left out: time over'] = String(timePassed);
  for (const name of ['shown', 'clicked', 'dismissed'])
    if (total !== undefined) tiles[capital(name)] = String(total[name]);
  return tiles;
};

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function tilesOf({ html }: Visitor['page']): Record<string, string> {
  const tile = /<div class="card tile">\s*<dt[^>]*>([^<]*)<\/dt>\s*<dd class="figure">([^<]*)<\/dd>/g;
  return Object.fromEntries(Array.from(html.matchAll(tile), ([, label, value]) => [decode(label!), value!]));
}

/** Names of the API's answer, as it is described. */
function describedNames({ routes }: RunningOperator, path: string): readonly string[] {
  const { paths } = describeRoutes(
    routes.map(({ options }) => options),
    '',
    operatorDescription,
  );
  const { responses } = paths[path]!['get']! as unknown as {
    readonly responses: Readonly<
      Record<string, { readonly content: Readonly<Record<string, { readonly schema: Json }>> }>
    >;
  };
  return Object.keys(responses['200']!.content['application/json']!.schema['properties'] as object);
}

/** Opens a page. @returns what it showed */
async function look(visitor: Visitor, open: () => Promise<unknown>): Promise<readonly ShownFigure[]> {
  const figures: ShownFigure[] = [];
  const add = (figure: unknown) => figures.push(figure as ShownFigure);
  subscribe('deskbell.figure', add);
  await open();
  unsubscribe('deskbell.figure', add);
  assert.equal(visitor.page.status, 200, visitor.page.url);
  return figures;
}

/** Each figure is right, and a page shows no number that is no figure. */
function check(at: string, world: World, { page }: Visitor, figures: readonly ShownFigure[]): void {
  const place = `${at}: ${page.url}`;
  for (const shown of figures) {
    const { name, of, value } = shown;
    world.shown.add(name);
    try {
      const expected = figureOracle[name]!(world, of.split(' '), shown);
      if (!Object.is(value, expected))
        world.faults.add(`${place}: ${name} of ${of} is ${value}, not ${expected}`);
    } catch (error) {
      world.faults.add(`${place}: ${name} of ${of} is ${value}: ${error}`);
    }
  }
  for (const number of othersIn(page.html, figures)) world.faults.add(`${place}: no figure: ${number}`);
}

/** What is no figure: scales of charts, what somebody wrote or chose, and what is fixed. */
const noFigures =
  /<(script|style|svg|pre|code|bdi|select|datalist|title)\b.*?<\/\1>|<p class="[^"]*\bticks">.*?<\/p>|<p class="quiet small">Messages per.*?<\/p>/gs;
const fixed =
  /50 on a page|newest 20 broadcasts|Time to \d\d %|last (24 hours|7 days)|\b(7|30|90) days\b|(?<![\w.])[\w.-]+\.(com|org)\b/g;

const words = (html: string): string => decode(html.replaceAll(/<[^>]+>/g, ' ')).replaceAll(/\s+/g, ' ');

function othersIn(html: string, figures: readonly ShownFigure[]): readonly string[] {
  const texts = new Set(figures.map(({ text }) => text));
  const known = [...texts]
    .map((text) => words(text.replaceAll(noFigures, ' ')).replaceAll(fixed, ' ').trim())
    .filter((text) => /\d/.test(text))
    .toSorted((one, other) => other.length - one.length)
    .map((text) => RegExp.escape(text));
  const rest = words(html.replaceAll(noFigures, ' ')).replaceAll(fixed, ' ');
  const others =
    known.length === 0
      ? rest
      : rest.replaceAll(new RegExp(`(?<![\\d,.])(?:${known.join('|')})(?!\\d)`, 'g'), ' ');
  return others.match(/(?:\S+ ){0,3}\S*\d\S*(?: \S+){0,3}/g) ?? [];
}

const reported = {
  connections: 2,
  inFlight: 3,
  queued: 4,
  maxInFlight: 9,
  answers: 100,
  throttled: 5,
  breaker: 'closed' as const,
};

/** Has a broadcast recur. */
async function schedule(
  { read }: RunningOperator,
  world: World,
  cron: string,
  nextAtMs: number,
): Promise<void> {
  const body = { cron, audience: 'all', message: { title: 'Hello', message: 'World' }, ttlSeconds: 7200 };
  const { id } = await read<{ readonly id: number }>('/v1/schedules', { method: 'POST', body });
  world.schedules.push({ id, createdAtMs: world.nowMs, nextAtMs, pausedAtMs: undefined });
  world.audited.push({ atMs: world.nowMs, status: 201 });
}

async function comparePages(moment: string, world: World, visitor: Visitor): Promise<void> {
  const paths = [
    '/console/',
    '/console/?range=day',
    '/console/?range=week',
    '/console/broadcasts',
    '/console/schedules',
    '/console/subscriptions',
    '/console/subscriptions/visits',
    '/console/channels',
    '/console/bells',
    '/console/push-services',
    '/console/keys',
    '/console/audit',
    ...['user-a', 'user-b', 'user-f'].map((user) => `/console/people?user=${user}`),
    ...world.stories.slice(1, 3).map(({ id }) => `/console/broadcasts/${id}`),
    ...world.schedules.map(({ id }) => `/console/schedules/${id}`),
    ...[1, 4, 18, 20].map((id) => `/console/subscriptions/${id}`),
  ];
  for (const path of paths) {
    const figures = await look(visitor, () => visitor.open(path));
    check(moment, world, visitor, figures);
  }
}

async function compare(
  moment: string,
  world: World,
  operator: RunningOperator,
  visitor: Visitor,
): Promise<void> {
  for (const story of world.stories) {
    const at = `${moment}: ${story.name}`;
    const answer = await operator.read<Json>(`/v1/broadcasts/${story.id}`);
    const expected = Object.fromEntries(
      Object.entries(broadcastOracle).map(([name, figure]) => [name, figure(story, world)]),
    );
    const [shown, counted] = withoutReachTimes(answer, expected, story);
    world.expect(`${at}: API`, () => assert.deepEqual(shown, plain(counted)));

    const figures = await look(visitor, () => visitor.open(`/console/broadcasts/${story.id}?user=user-b`));
    check(moment, world, visitor, figures);
    const { page } = visitor;
    const { 'Time to 50 %': _50, 'Time to 95 %': _95, 'Time to 99 %': _99, ...tiles } = tilesOf(page);
    world.expect(`${at}: tiles`, () => assert.deepEqual(tiles, tilesOracle(story, world)));
    const state = /<span class="badge (\w+)">([^<]+)</.exec(
      page.html.slice(page.html.indexOf('live-progress')),
    );
    const reached = count(story, ({ outcome }) => outcome === 'accepted');
    const isDone = stateOf(story, world) === 'done';
    assert.equal(state?.[1] === 'good', isDone && reached > 0, `${at}: green means reached`);
    assert.match(page.html, new RegExp(`>${reached} of ${story.rows.length} reached`), at);
    if (isOver(story) || ofCause(story, world, 'now') === 0) assert.doesNotMatch(page.html, /\d+ s left/, at);

    const csv = await (await operator.ask(`/v1/broadcasts/${story.id}/outcomes.csv`)).text();
    const [, ...lines] = csv.trimEnd().split('\r\n');
    const known = [...story.rows, ...story.leftOut]
      .filter((row) => stateOfRow(row, world) !== 'removed' || row.posts > 0 || story.hasSets)
      .toSorted((one, other) => one.id - other.id);
    world.expect(`${at}: CSV`, () =>
      assert.deepEqual(
        lines,
        known.map((row) =>
          Object.values(csvOracle)
            .map((cell) => cell(row, story, world))
            .join(','),
        ),
      ),
    );
  }
  await comparePages(moment, world, visitor);
  const metrics = await (await operator.ask('/metrics')).text();
  const names = new Set<string>();
  for (const [, name = '', given = '', value] of metrics.matchAll(/^deskbell_(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    names.add(name);
    if (otherMetrics.test(name)) continue;
    const labels = Object.fromEntries(
      Array.from(given.matchAll(/(\w+)="([^"]*)"/g), ([, key, text]) => [key, text]),
    );
    const figure = metricsOracle[name];
    assert.ok(figure, `the metric ${name} has no oracle`);
    world.expect(`${moment}: ${name} ${given}`, () => assert.equal(Number(value), figure(world, labels)));
  }
  // of an origin and outcome, only once there is one
  for (const name of names) world.metrics.add(name);
}

test('what is shown of broadcasts is what a plain count over their rows gives, in every state and at every time', async (t) => {
  const clock = { now: () => noonMs };
  const operator = await startOperator(t, { now: () => clock.now() });
  const world = new World(operator.store);
  clock.now = () => world.nowMs;
  const visitor = await signIn(operator);
  assert.deepEqual(
    describedNames(operator, '/v1/broadcasts/{id}').toSorted(),
    Object.keys(broadcastOracle).toSorted(),
    'each name has an oracle',
  );
  assert.equal(csvHeader, `${Object.keys(csvOracle).join(',')}\r\n`);

  await world.subscribe();
  await schedule(operator, world, '0 9 * * *', noonMs + 22 * hourMs);
  await schedule(operator, world, '30 12 * * *', noonMs + 1.5 * hourMs);
  const nobody = await world.create('to nobody', {
    changes: { matching: { tags: { all: ['none'] } } },
    isIn: () => false,
  });
  assert.equal(nobody.rows.length, 0);
  const mixed = await world.create('of all outcomes');
  const channel = await world.create('a channel', {
    split: { channel: { name: 'news', isOnByDefault: true }, languages: [] },
    isIn: ({ hasNews }) => hasNews,
    leftOut: 'channelOff',
  });
  const times = { timeZone: 'UTC', startAtMs: noonMs, ttlSeconds: 48 * 3600 };
  const local = await world.create('at a local time', {
    split: { languages: [], times: { ...times, localTime: '2026-12-01T13:00' } },
    // Tokyo's is over: the next day
    fromMs: ({ zone }) =>
      noonMs + hourMs * { 'Europe/Berlin': 1, 'America/New_York': 7, 'Asia/Tokyo': 17 }[zone],
  });
  const skipping = await world.create('without those whose local time is over', {
    split: { languages: [], times: { ...times, localTime: '2026-12-01T13:00', ifTimePassed: 'skip' } },
    isIn: ({ zone }) => zone !== 'Asia/Tokyo',
    leftOut: 'timePassed',
    fromMs: ({ zone }) => noonMs + hourMs * (zone === 'Europe/Berlin' ? 1 : 7),
  });
  const quiet = await world.create('with quiet hours', {
    split: { languages: [], times: { ...times, quietHours: '19:00-08:00' } },
    // New York's end in two hours, Tokyo's in twelve
    fromMs: ({ zone }) =>
      noonMs + hourMs * { 'Europe/Berlin': 0, 'America/New_York': 2, 'Asia/Tokyo': 12 }[zone],
  });
  const scheduled = await world.create('scheduled', { changes: { startAtMs: noonMs + 2 * hourMs } });
  const held = await world.create('with a push service that refuses us');
  const away = await world.create('with one that cannot be reached');
  const stranger = await world.create('with a host that does not answer, which no end waits for');
  const paused = await world.create('paused');
  const cancelled = await world.create('cancelled on its way');
  const expired = await world.create('expired');
  const asking = await world.create('with receipts', { changes: { receiptActions: [] } });
  const german = new TextEncoder().encode('{"title":"Hallo","message":"Welt"}');
  const texts = await world.create('in two languages', {
    changes: { texts: new Map([['de', german]]) },
    split: { languages: ['de'] },
  });
  await compare('when they were made', world, operator, visitor);

  const fates: readonly Fate[] = ['accepted', 'rejected', 'doubtful', 'exhausted', 'capped', 'retry'];
  await world.deliver(mixed, ({ id }) => fates[id % fates.length]!);
  await world.deliver(channel, () => 'accepted');
  await world.deliver(quiet, () => 'accepted');
  await world.deliver(held, ({ origin }) => (origin.endsWith(hosts[2]) ? 'refused' : 'accepted'));
  await world.deliver(away, ({ origin }) => (origin.endsWith(hosts[1]) ? 'turn' : 'accepted'));
  await world.deliver(stranger, ({ origin }) => (origin.endsWith(hosts[1]) ? 'dormant' : 'accepted'));
  await world.deliver(cancelled, ({ id }) => (id % 2 === 0 ? 'accepted' : 'retry'));
  await world.deliver(expired, () => 'expired');
  await world.deliver(asking, () => 'accepted');
  await world.deliver(texts, ({ id }) => (id > 20 ? 'dormant' : 'accepted'));
  await world.tell(asking, 'shown', [1, 2, 3, 4, 5]);
  await world.tell(asking, 'clicked', [1, 2]);
  await world.store.broadcasts.pause(paused.id);
  paused.state = 'paused';
  await compare('when some was sent', world, operator, visitor);

  await world.cancel(cancelled);
  const inactive = await world.create('without the inactive', {
    split: { skipInactive: 1, languages: [] },
    isIn: ({ id }) => ![3, 4, 5].includes(id),
    leftOut: 'inactive',
    inactive: 3,
  });
  const gone = await world.create('that ends subscriptions');
  await world.deliver(gone, ({ id }) => (id === 18 ? 'gone' : 'accepted'));
  const goneThere = await world.create('that calls Windows gone', { changes: { sliceRows: 100 } });
  await world.deliver(goneThere, ({ origin }) => (origin.endsWith(windows) ? 'gone' : 'accepted'));
  await world.report(
    ['ivy', 'ivy', 'oak'],
    [
      { ...reported, origin: `https://${hosts[0]}`, latencyMs: 42 },
      {
        ...reported,
        origin: `https://${windows}`,
        breaker: 'open',
        breakerReason: 'no route',
        unreachableMs: 90_000,
      },
    ],
  );
  await compare('when subscriptions have ended, and workers report', world, operator, visitor);

  world.nowMs += hourMs;
  await world.remove(({ user }) => user === 'user-a');
  await compare('an hour later, when a person is gone', world, operator, visitor);
  await world.deliver(mixed, () => 'accepted');
  await world.deliver(local, () => 'accepted');
  await world.deliver(away, () => 'accepted');
  await world.deliver(stranger, () => 'accepted');
  await world.deliver(inactive, () => 'rejected');
  await compare('when Berlin has got it', world, operator, visitor);

  world.nowMs += 24 * hourMs;
  await world.store.broadcasts.resume(paused.id);
  paused.state = 'running';
  for (const story of [local, skipping, quiet, scheduled, paused])
    await world.deliver(story, () => 'accepted');
  // the session of yesterday is over
  await compare('the next day', world, operator, await signIn(operator, 'full', 'eve'));
  for (const name of Object.keys(metricsOracle)) assert.ok(world.metrics.has(name), name);
  assert.deepEqual([...world.faults], []);
  const others = Object.keys(figureOracle).filter((name) => !world.shown.has(name) && !notShown.test(name));
  assert.deepEqual(others, [], 'each figure is shown');
});

/** What pages show only while somebody acts, or of many. */
const notShown =
  /^(alarm.(ack|other)|answer.rarer|bell|broadcast.(unacc|eta)|done|draft|more|overview.(ack|open|shown)|person.d|removed|review|schedule.pau|subscription.ended|tag)/;
