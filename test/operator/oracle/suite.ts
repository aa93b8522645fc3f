// What console, API, CSV, commands, metrics and webhook say is what a plain count over rows gives: in every state, at several moments of
// the clock, from one store. The test keeps rows of its own, changes them as it changes the store's, and counts them; nothing of what it tests
// helps it. A name that is shown, and that it does not count, fails; so does a number on a page that has no name.
import assert from 'node:assert/strict';
import { countAudience } from '../../../src/delivery/broadcast/estimate-audience.ts';
import { test } from 'node:test';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ShownFigure } from '../../../src/operator/console/figures.ts';
import { createMetrics } from '../../../src/operator/metrics/metrics.ts';
import { csvHeader } from '../../../src/operations/outcomes.ts';
import { outcomeGroups, settlements, type OutcomeGroup } from '../../../src/store/broadcasts.ts';
import { decode, signIn, type Visitor } from '../console-visitor.ts';
import { answersOf, type ApiOracle, apiOracle, checkThing } from './api.ts';
import { compareCommands } from './commands.ts';
import { figureOracle } from './figures.ts';
import {
  alarmsOf,
  lateTimes,
  noDraft,
  standingAlarms,
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
  reachedAfterMs,
  reports,
  type Row,
  saidBy,
  stateOf,
  stateOfRow,
  type Story,
  waitsOf,
  windows,
  World,
  zones,
} from './world.ts';
import { madeUpBroadcast } from '../../store/store-under-test.ts';
import { webhookBody } from '../../../src/operator/webhook/post-events.ts';
import { startOperator, type RunningOperator } from '../running-operator.ts';

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
            actions: actionsOf(reports(story, 'onAction', origin)),
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
  reachTimes: (story) =>
    [50, 95, 99].map((percent) => ({ percent, reachedAfterMs: reachedAfterMs(story, percent) })),
  changes: ({ changes }) => changes,
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

const actionsOf = (clicks: number) => (clicks === 0 ? {} : { buy: clicks });

const ownOf = ({ own = {} }: Story): Readonly<Record<string, Oracle>> =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [name, () => value]));

/** The interval that a moment is counted in makes a time less exact: it must hold the moment. */
function withoutReachTimes(shown: Json, expected: Json): readonly [Json, Json] {
  const pairs = expected['reachTimes'] as readonly { percent: number; reachedAfterMs?: number }[];
  const times = shown['reachTimes'] as readonly {
    percent: number;
    seconds?: number;
    precisionSeconds?: number;
  }[];
  for (const [index, { percent, reachedAfterMs: exactMs }] of pairs.entries()) {
    const { seconds, precisionSeconds = 0, ...time } = times[index]!;
    assert.equal(time.percent, percent);
    assert.equal(seconds === undefined, exactMs === undefined, `${percent} %`);
    if (seconds === undefined || exactMs === undefined) continue;
    const exact = exactMs / 1000;
    assert.ok(seconds >= exact && seconds - precisionSeconds <= exact, `${percent} %: ${seconds}, ${exact}`);
  }
  return [
    {
      ...shown,
      reachTimes: 0,
      changes: (shown['changes'] as Json[]).map((each) => plain({ ...each, id: undefined })),
    },
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

type Labels = Readonly<Record<string, string>>;

const isTrue = (value: boolean): number => Number(value);
const secondsSince = ({ nowMs }: World, times: readonly number[]): number =>
  times.length === 0 ? 0 : (nowMs - Math.min(...times)) / 1000;
const late = (world: World, kind: 'broadcasts' | 'schedules'): readonly number[] =>
  lateTimes(world)[kind].map(({ sinceMs }) => sinceMs);

const durationOracle = (
  name: string,
): Readonly<Record<string, (world: World, labels: Labels) => number>> => ({
  [`${name}_duration_seconds_bucket`]: (_world, { le }) => (le === '0.005' ? 2 : 6),
  [`${name}_duration_seconds_sum`]: () => 1,
  [`${name}_duration_seconds_count`]: () => 6,
});

/** Of its registry; those of the process itself are Node's. */
const metricsOracle: Readonly<Record<string, (world: World, labels: Labels) => number>> = {
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
  broadcast_alarms: (world, { reason }) =>
    sumOf(
      world.stories.filter((story) => ['running', 'scheduled', 'paused'].includes(stateOf(story, world))),
      (story) => alarmsOf(story).filter((alarm) => alarm.reason === reason).length,
    ),
  alarms: (world, { kind, rank, acknowledged }) =>
    standingAlarms(world).filter(
      (alarm) =>
        alarm.id.split(':')[0] === kind &&
        alarm.rank === rank &&
        String(alarm.acknowledgedAtMs !== undefined) === acknowledged,
    ).length,
  broadcast_late_seconds: (world) => secondsSince(world, late(world, 'broadcasts')),
  schedule_late_seconds: (world) => secondsSince(world, late(world, 'schedules')),
  webhook_events_waiting: ({ events }) => events.length,
  webhook_oldest_event_seconds: (world) => secondsSince(world, world.events),
  webhook_dropped_total: ({ dropped }) => dropped,
  push_service_held: (world, { origin }) =>
    2 *
    isTrue(
      world.stories.some(({ rows }) => rows.some((row) => row.cause === 'pushService' && isOf(row, origin))),
    ),
  held_deletions: ({ people }, { origin }) =>
    people.filter((person) => person.isStored && person.heldSinceMs !== undefined && isOf(person, origin))
      .length,
  subscriptions: ({ people }) => people.filter((person) => person.isStored).length,
  registrations_total: (_world, { result }) => ({ stored: 3, limited: 1 })[result!] ?? 0,
  disk_free_bytes: () => machine.disk.freeBytes,
  disk_size_bytes: () => machine.disk.sizeBytes,
  subscription_limit: () => machine.subscriptionLimit,
  certificate_expiry_timestamp_seconds: () => machine.certificateEndsAtMs / 1000,
  last_backup_timestamp_seconds: () => machine.lastBackupAtMs / 1000,
  lease_lost_total: () => 2 * delivered.leasesLost,
  breaker_open: ({ senders }, { origin }) =>
    senders
      .flatMap(({ pushServices }) => pushServices)
      .filter((report) => isOf(report, origin) && report.breaker !== 'closed').length,
  senders: ({ senders }, { kind }) => senders.filter((sender) => sender.kind === kind).length,
  ...durationOracle('push_request'),
  ...durationOracle('commit'),
};

const machine = {
  disk: { freeBytes: 7_000, sizeBytes: 9_000 },
  subscriptionLimit: 12_345,
  certificateEndsAtMs: noonMs + 1000,
  lastBackupAtMs: noonMs - 1000,
};
/** One took at most 5 ms, two 10 ms; they are reported twice. */
const durations = { counts: [1, 2, ...Array.from({ length: 11 }, () => 0)], sumSeconds: 0.5 };
const delivered = { answers: [{ pushService: hosts[0], ...durations }], commits: durations, leasesLost: 4 };

/** To whom a later broadcast can be sent, by what it is asked for. */
const groupsOracle: Readonly<Record<OutcomeGroup, (row: Row, story: Story) => boolean>> = {
  ...(Object.fromEntries(
    [...settlements, 'cancelled', 'inactive', 'channelOff', 'timePassed'].map((outcome) => [
      outcome,
      (row: Row) => row.outcome === outcome,
    ]),
  ) as Record<OutcomeGroup, (row: Row) => boolean>),
  missed: ({ outcome }) =>
    ['gone', 'rejected', 'expired', 'exhausted', 'capped', 'dormant', 'cancelled'].includes(outcome),
  shown: ({ id }, { shown }) => shown.has(id),
  notShown: ({ id, outcome }, { shown }) => outcome === 'accepted' && !shown.has(id),
  clicked: ({ id }, { clicked }) => clicked.has(id),
  notClicked: ({ id, outcome }, { clicked }) => outcome === 'accepted' && !clicked.has(id),
  dismissed: () => false,
};

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
  if (story.onAction.size > 0) tiles['Clicked: buy'] = String(story.onAction.size);
  return tiles;
};

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function tilesOf({ html }: Visitor['page']): Record<string, string> {
  const tile = /<div class="card tile">\s*<dt[^>]*>(.*?)<\/dt>\s*<dd class="figure">(?:<a[^>]*>)?([^<]*)</g;
  return Object.fromEntries(
    Array.from(html.matchAll(tile), ([, label, value]) => [words(label!).trim(), value!]),
  );
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

/** Each figure is right and on its page, and a page shows no number that is no figure. */
function check(
  at: string,
  world: World,
  { page }: Visitor,
  figures: readonly ShownFigure[],
  hasOnlyFigures = true,
): void {
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
  if (!hasOnlyFigures) return;
  const [html, read] = [decode(page.html), words(page.html)];
  for (const { name, of, text } of figures)
    if (!html.includes(decode(text)) && !read.includes(words(text).trim()))
      world.faults.add(`${place}: ${name} of ${of} is not there: ${text}`);
  for (const number of othersIn(page.html, figures)) world.faults.add(`${place}: no figure: ${number}`);
}

/** What is no figure: scales of charts, what somebody wrote or chose, and what is fixed. */
const noFigures =
  /<(script|style|svg|pre|code|bdi|select|datalist|title)\b.*?<\/\1>|<p class="[^"]*\bticks">.*?<\/p>|<p class="quiet small">Messages per.*?<\/p>/gs;
const fixed =
  /50 on a page|Local time 13:00|newest 20 broadcasts|Time to \d\d %|last (24 hours|7 days)|\b(7|30|90) days\b|(?<![\w.])[\w.-]+\.(com|org)\b|Remove 1 subscription\?|\b\d lines?\b|\bbutton \d|unfolded \d/g;

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

/** Pauses or resumes a broadcast, as the operator whose token the test has. */
async function control(
  { ask }: RunningOperator,
  world: World,
  story: Story,
  name: 'pause' | 'resume',
): Promise<void> {
  const { status } = await ask(`/v1/broadcasts/${story.id}/${name}`, { method: 'POST' });
  assert.equal(status, 200);
  const [at, action, target] = [iso(world.nowMs), `broadcast.${name}`, `broadcast ${story.id}`];
  story.changes.unshift({ at, operator: 'tester', action, target, status });
  world.audited.push({ atMs: world.nowMs, status });
}

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

const oracles: ApiOracle = {
  ...apiOracle,
  Broadcast: Object.fromEntries(
    Object.keys(broadcastOracle).map((name) => [
      name,
      (world, item) => {
        // of one broadcast only, where they are compared; the one that is asked for by itself
        if (['leftOut', 'reachTimes', 'changes'].includes(name))
          return item['id'] === 2 ? item[name] : undefined;
        const story = world.stories.find(({ id }) => id === item['id'])!;
        return { ...broadcastOracle, ...ownOf(story) }[name]!(story, world);
      },
    ]),
  ),
};

/** Whose answers are compared at each moment; of a list, each item. */
const asked: Readonly<Record<string, readonly string[]>> = {
  'get /v1/broadcasts': ['/v1/broadcasts'],
  'get /v1/broadcasts/{id}': ['/v1/broadcasts/2'],
  'get /v1/broadcasts/{id}/attempts': ['/v1/broadcasts/2/attempts?limit=500'],
  'get /v1/broadcasts/{id}/outcomes': ['/v1/broadcasts/2/outcomes', '/v1/broadcasts/13/outcomes'],
  'get /v1/subscriptions/{id}/outcomes': ['/v1/subscriptions/1/outcomes', '/v1/subscriptions/20/outcomes'],
  'get /v1/people/{user}/outcomes': ['/v1/people/user-f/outcomes'],
  'get /v1/schedules': ['/v1/schedules'],
  'get /v1/schedules/{id}': ['/v1/schedules/1', '/v1/schedules/2'],
  'get /v1/bells': ['/v1/bells'],
  'get /v1/bells/{name}': ['/v1/bells/door'],
  'get /v1/subscriptions': ['/v1/subscriptions'],
  'get /v1/subscriptions/{id}': ['/v1/subscriptions/40'],
  'get /v1/subscriptions/{id}/attempts': ['/v1/subscriptions/20/attempts'],
  'get /v1/channels': ['/v1/channels'],
  'get /v1/people/{user}': ['/v1/people/user-b', '/v1/people/user-c'],
  'get /v1/push-services': ['/v1/push-services'],
  'get /v1/senders': ['/v1/senders'],
  'get /v1/held-deletions': ['/v1/held-deletions'],
  'get /v1/alarms': ['/v1/alarms'],
  'get /v1/keys': ['/v1/keys'],
  'get /v1/audit': ['/v1/audit'],
  'get /v1/losses': ['/v1/losses'],
  'get /v1/losses/days': ['/v1/losses/days'],
  'get /v1/people/{user}/removal': ['/v1/people/user-b/removal?receipt=none'],
};

async function compareAnswers(moment: string, world: World, operator: RunningOperator): Promise<void> {
  for (const { route, isList, thing } of answersOf(operator)) {
    if (!route.startsWith('get ')) continue;
    assert.ok(asked[route], `${route} is not asked`);
    for (const path of asked[route]) {
      const answer = await operator.read<Json>(path);
      const items = isList ? (answer['items'] as readonly Json[]) : [answer];
      for (const item of items) checkThing(`${moment}: ${path}`, world, oracles, thing, item);
    }
  }
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
    '/console/subscriptions/lost',
    `/console/subscriptions/lost?pushService=push.apple.com&day=${iso(Date.now()).slice(0, 10)}&reason=unsubscribed`,
    '/console/channels',
    '/console/bells',
    '/console/bells/show?name=door',
    '/console/push-services',
    '/console/keys',
    '/console/audit',
    ...['user-a', 'user-b', 'user-f'].map((user) => `/console/people?user=${user}`),
    ...world.stories.slice(1, 3).map(({ id }) => `/console/broadcasts/${id}`),
    ...world.schedules.map(({ id }) => `/console/schedules/${id}`),
    ...[1, 14, 17, 18, 20, 40].map((id) => `/console/subscriptions/${id}`),
  ];
  for (const path of paths) {
    const figures = await look(visitor, () => visitor.open(path));
    check(moment, world, visitor, figures);
  }
}

/** Who has left, when, why, and by whom. */
async function compareLosses(moment: string, world: World, operator: RunningOperator): Promise<void> {
  const { items } = await operator.read<{ readonly items: readonly Json[] }>('/v1/losses?limit=100');
  world.expect(`${moment}: losses`, () =>
    assert.deepEqual(
      items
        .map(({ subscription, pushService, reason, by }) => [subscription, pushService, reason, by].join(' '))
        .toSorted(),
      world.lost
        .map(({ person, reason, by, isOfPerson }) =>
          [isOfPerson ? undefined : person.id, person.origin, reason, by].join(' '),
        )
        .toSorted(),
    ),
  );
  const days = await operator.read<{ readonly items: readonly Json[] }>('/v1/losses/days?limit=100');
  const counted = Map.groupBy(world.lost, ({ person, reason, atMs }) =>
    [iso(atMs).slice(0, 10), person.origin, reason].join(' '),
  );
  world.expect(`${moment}: losses by day, newest first`, () =>
    assert.deepEqual(
      days.items.map(({ day, pushService, reason, subscriptions }) => [
        [day, pushService, reason].join(' '),
        subscriptions,
      ]),
      [...counted]
        .map(([name, { length }]) => [name, length] as const)
        .toSorted(([one], [other]) => (one < other ? 1 : -1)),
    ),
  );
}

/** The lines of the outcomes of a broadcast. */
const csvOf = (story: Story, world: World): readonly string[] =>
  [...story.rows, ...story.leftOut]
    .filter((row) => stateOfRow(row, world) !== 'removed' || row.posts > 0 || story.hasSets)
    .toSorted((one, other) => one.id - other.id)
    .map((row) =>
      Object.values(csvOracle)
        .map((cell) => cell(row, story, world))
        .join(','),
    );

async function compare(
  moment: string,
  world: World,
  operator: RunningOperator,
  visitor: Visitor,
  isWhole: boolean,
): Promise<void> {
  for (const story of world.stories) {
    const at = `${moment}: ${story.name}`;
    const answer = await operator.read<Json>(`/v1/broadcasts/${story.id}`);
    const expected = Object.fromEntries(
      Object.entries({ ...broadcastOracle, ...ownOf(story) }).map(([name, figure]) => [
        name,
        figure(story, world),
      ]),
    );
    const [shown, counted] = withoutReachTimes(answer, expected);
    world.expect(`${at}: API`, () => assert.deepEqual(shown, plain(counted)));

    const figures = await look(visitor, () => visitor.open(`/console/broadcasts/${story.id}?user=user-b`));
    check(moment, world, visitor, figures);
    const { page } = visitor;
    const shownTiles = Object.entries(tilesOf(page));
    const { times = [], counts = [] } = Object.groupBy(shownTiles, ([label]) =>
      label.startsWith('Time to ') ? 'times' : 'counts',
    );
    const tiles = Object.fromEntries(counts);
    world.expect(`${at}: tiles`, () => assert.deepEqual(tiles, tilesOracle(story, world)));
    for (const [label, time] of times) {
      const isReached = reachedAfterMs(story, Number(/\d+/.exec(label))) !== undefined;
      assert.equal(time !== '–', isReached, `${at}: ${label}`);
      if (isReached) continue;
      const why = isOver(story) ? 'so many were never reached' : 'not yet';
      assert.match(page.html, new RegExp(`>${label}</dt>\\s*<dd[^>]*>–</dd>\\s*<dd[^>]*>${why}<`), at);
    }
    const state = /<span class="badge (\w+)">([^<]+)</.exec(
      page.html.slice(page.html.indexOf('live-progress')),
    );
    const reached = count(story, ({ outcome }) => outcome === 'accepted');
    const isDone = stateOf(story, world) === 'done';
    assert.equal(state?.[1] === 'good', isDone && reached > 0, `${at}: green means reached`);
    assert.match(page.html, new RegExp(`>${reached} of ${story.rows.length} reached`), at);
    if (isOver(story) || ofCause(story, world, 'now') === 0) assert.doesNotMatch(page.html, /\d+ s left/, at);

    for (const group of outcomeGroups) {
      const audience = { broadcast: story.id, outcome: group };
      const isOfReceipts = ['shown', 'notShown', 'clicked', 'notClicked', 'dismissed'].includes(group);
      if (isOfReceipts && !asksReceipts(story)) {
        await assert.rejects(countAudience(audience, world.store), { code: 'ERR_FIELD_VALUE' }, at);
        continue;
      }
      const asMember = [...story.rows, ...story.leftOut].filter((row) => isStored(row, world));
      const members = asMember.filter((row) => groupsOracle[group](row, story));
      assert.equal(await countAudience(audience, world.store), members.length, `${at}: ${group}`);
    }

    const csv = await (await operator.ask(`/v1/broadcasts/${story.id}/outcomes.csv`)).text();
    const [, ...lines] = csv.trimEnd().split('\r\n');
    world.expect(`${at}: CSV`, () => assert.deepEqual(lines, csvOf(story, world)));
  }
  await compareLosses(moment, world, operator);
  if (isWhole) await comparePages(moment, world, visitor);
  if (isWhole) await compareAnswers(moment, world, operator);
  const metrics = await (await operator.ask('/metrics')).text();
  const names = new Set<string>();
  for (const [, name = '', given = '', value] of metrics.matchAll(/^deskbell_(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    names.add(name);
    const labels = Object.fromEntries(
      Array.from(given.matchAll(/(\w+)="([^"]*)"/g), ([, key, text]) => [key, text]),
    );
    world.expect(`${moment}: ${name} ${given}`, () => {
      assert.ok(metricsOracle[name], 'has no oracle');
      assert.equal(Number(value), metricsOracle[name](world, labels));
    });
  }
  // of an origin and outcome, only once there is one
  for (const name of names) world.metrics.add(name);
}

const others = (names: readonly string[], seen: ReadonlySet<string>, not = /^$/) =>
  names.filter((name) => !seen.has(name) && !not.test(name));

/** @param isWide all pages and answers at each moment; else at two */
export const addOracleTest = (isWide: boolean) =>
  test('what is shown is what a plain count over rows gives, in every state and at every time', async (t) => {
    const clock = { now: () => noonMs };
    const operator = await startOperator(t, {
      now: () => clock.now(),
      metricsOf: (store) => {
        const metrics = createMetrics(store, { readMachine: async () => machine });
        for (let times = 0; times < 2; times += 1) metrics.recordFigures(delivered);
        for (const result of ['stored', 'stored', 'stored', 'limited'] as const)
          metrics.recordRegistration(result);
        return metrics;
      },
    });
    const world = new World(operator.store);
    await operator.store.webhooks.watch();
    clock.now = () => world.nowMs;
    const visitor = await signIn(operator);
    const compareAll = async (moment: string, signedIn: Visitor, isWhole: boolean, hasCommands = false) => {
      await compare(moment, world, operator, signedIn, isWhole);
      // they take a tenth of a second each
      if (isWide && hasCommands) await compareCommands(moment, t, world, (story) => csvOf(story, world));
    };
    const { thing } = answersOf(operator).find(({ route }) => route === 'get /v1/broadcasts/{id}')!;
    const members = Object.keys(thing.properties!);
    assert.deepEqual(members.toSorted(), Object.keys(broadcastOracle).toSorted(), 'each name has an oracle');
    assert.equal(csvHeader, `${Object.keys(csvOracle).join(',')}\r\n`);

    await world.subscribe();
    await schedule(operator, world, '0 9 * * *', noonMs + 22 * hourMs);
    await schedule(operator, world, '30 12 * * *', noonMs + 1.5 * hourMs);
    const secret = await addBell(operator, world);
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
      split: { languages: [], times: { ...times, localTime: `${iso(noonMs).slice(0, 10)}T13:00` } },
      // Tokyo's is over: the next day
      fromMs: ({ zone }) =>
        noonMs + hourMs * { 'Africa/Lagos': 1, 'America/Bogota': 7, 'Asia/Tokyo': 17 }[zone],
    });
    const skipping = await world.create('without those whose local time is over', {
      split: {
        languages: [],
        times: { ...times, localTime: `${iso(noonMs).slice(0, 10)}T13:00`, ifTimePassed: 'skip' },
      },
      isIn: ({ zone }) => zone !== 'Asia/Tokyo',
      leftOut: 'timePassed',
      fromMs: ({ zone }) => noonMs + hourMs * (zone === 'Africa/Lagos' ? 1 : 7),
    });
    const quiet = await world.create('with quiet hours', {
      split: { languages: [], times: { ...times, quietHours: '19:00-08:00' } },
      // Bogota's end in two hours, Tokyo's in twelve
      fromMs: ({ zone }) =>
        noonMs + hourMs * { 'Africa/Lagos': 0, 'America/Bogota': 2, 'Asia/Tokyo': 12 }[zone],
    });
    const scheduled = await world.create('scheduled', { changes: { startAtMs: noonMs + 2 * hourMs } });
    const refused = await world.create('with a push service that refuses us');
    const away = await world.create('with one that cannot be reached');
    const stranger = await world.create('with a host that does not answer, which no end waits for');
    const paused = await world.create('paused');
    const cancelled = await world.create('cancelled on its way');
    const expired = await world.create('expired');
    const asking = await world.create('with receipts', { changes: { receiptActions: ['buy'] } });
    const german = new TextEncoder().encode('{"title":"Hallo","message":"Welt"}');
    const texts = await world.create('in two languages', {
      changes: { texts: new Map([['de', german]]) },
      split: { languages: ['de'] },
    });
    const half = await world.create('of which a part is sent', { changes: { sliceRows: 30 } });
    await compareAll('when they were made', visitor, isWide);
    await world.dropEvent();

    const fates: readonly Fate[] = ['accepted', 'rejected', 'doubtful', 'exhausted', 'capped', 'retry'];
    await world.deliver(mixed, ({ id }) => fates[id % fates.length]!);
    await world.deliver(channel, () => 'accepted');
    await world.deliver(quiet, () => 'accepted');
    await world.deliver(refused, ({ origin }) => (origin.endsWith(hosts[2]) ? 'refused' : 'accepted'));
    await world.deliver(away, ({ origin }) => (origin.endsWith(hosts[1]) ? 'turn' : 'accepted'));
    await world.deliver(stranger, ({ origin }) => (origin.endsWith(hosts[1]) ? 'dormant' : 'accepted'));
    await world.deliver(cancelled, ({ id }) => (id % 2 === 0 ? 'accepted' : 'retry'));
    await world.deliver(expired, () => 'expired');
    await world.deliver(half, () => 'accepted', 1);
    await world.deliver(asking, () => 'accepted');
    await world.deliver(texts, ({ id }) => (id > 20 ? 'dormant' : 'accepted'));
    await world.tell(asking, 'shown', [1, 2, 3, 4, 5]);
    await world.tell(asking, 'clicked', [1], 'buy');
    await world.tell(asking, 'clicked', [2]);
    await control(operator, world, paused, 'pause');
    paused.state = 'paused';
    await world.store.readers.setPerson('user-b', { data: { age: 7 }, channels: { news: false } });
    world.data.set('user-b', 7);
    world.choices.set('user-b', false);
    await compareAll('when some was sent', visitor, isWide);

    await world.cancel(cancelled);
    const inactive = await world.create('without the inactive', {
      split: { skipInactive: 1, languages: [] },
      isIn: ({ id }) => ![3, 4, 5].includes(id),
      leftOut: 'inactive',
      inactive: 3,
    });
    const gone = await world.create('that ends subscriptions');
    await world.deliver(gone, ({ id }) => (id === 18 || id === 11 ? 'gone' : 'accepted'));
    const goneThere = await world.create('that calls Windows gone', { changes: { sliceRows: 100 } });
    await world.deliver(goneThere, ({ origin }) => (origin.endsWith(windows) ? 'gone' : 'accepted'));
    const [first, last] = [`https://${hosts[0]}`, `https://${windows}`];
    const tried = { ...reported, origin: last, breaker: 'half-open', breakerReason: 'on trial' } as const;
    const unreached = {
      ...tried,
      breaker: 'open',
      breakerReason: 'no route',
      unreachableMs: 90_000,
    } as const;
    await world.report([
      { machine: 'ivy', pushServices: [{ ...reported, origin: first, latencyMs: 20 }, tried] },
      {
        machine: 'ivy',
        pushServices: [{ ...tried, origin: first, latencyMs: 42, throttled: 1 }, unreached],
      },
      { machine: 'oak', pushServices: [{ ...reported, origin: first, connections: 7 }] },
      { machine: 'oak', kind: 'single', pushServices: [{ ...reported, origin: last }] },
    ]);
    await compareAll('when subscriptions have ended, and workers report', visitor, true);

    world.nowMs += hourMs;
    await world.remove(({ user }) => user === 'user-a');
    await world.unsubscribe(14);
    await world.register(40, 13);
    await world.register(16);
    world.schedules[1]!.pausedAtMs = world.nowMs;
    await change(operator, world, '/v1/schedules/2/pause');
    await ring(operator, world, secret);
    await ring(operator, world, secret);
    const { id: alarm, count: held } = standingAlarms(world).find(({ rank }) => rank === 'soon')!;
    world.acknowledged.set(alarm, world.nowMs);
    await change(operator, world, `/v1/alarms/${encodeURIComponent(alarm)}/acknowledge`, { note: 'I know' });
    await compareAll('an hour later, when a person is gone', visitor, true, true);
    world.done = held;
    await change(operator, world, `/v1/held-deletions/${encodeURIComponent(`https://${windows}`)}/discard`);
    for (const person of world.people) person.heldSinceMs = undefined;
    world.acknowledged.clear();
    await world.deliver(mixed, () => 'accepted');
    await world.deliver(local, () => 'accepted');
    await world.deliver(away, () => 'accepted');
    await world.deliver(stranger, () => 'accepted');
    await world.deliver(inactive, () => 'rejected');
    await compareAll('when Lagos has got it', visitor, isWide);

    world.nowMs += 24 * hourMs;
    await control(operator, world, paused, 'resume');
    paused.state = 'running';
    for (const story of [half, local, skipping, quiet, scheduled, paused])
      await world.deliver(story, () => 'accepted');
    // the session of yesterday is over
    const eve = await signIn(operator, 'full', 'eve');
    await compareAll('the next day', eve, isWide, true);
    await act(world, operator, eve);
    await compareEvents(world);
    assert.deepEqual([...world.faults], []);
    assert.deepEqual(others(Object.keys(metricsOracle), world.metrics), [], 'each metric has a value');
    assert.deepEqual(others(Object.keys(oracles), world.models, /SentMessage/), [], 'each model is answered');
    if (isWide)
      assert.deepEqual(others(Object.keys(figureOracle), world.shown, notShown), [], 'each figure is shown');
  });

/** Changes something. */
async function change(
  operator: RunningOperator,
  world: World,
  path: string,
  body?: object,
  method = 'POST',
): Promise<void> {
  const answer = await operator.read<Json>(path, { method, ...(body && { body }) });
  world.audited.push({ atMs: world.nowMs, status: 200 });
  const segments = path.split('?')[0]!.split('/');
  const { thing } = answersOf(operator).find(({ route }) => {
    const [verb, template = ''] = route.split(' ');
    const parts = template.split('/');
    const fits = (part: string, index: number) => part.startsWith('{') || part === segments[index];
    return verb === method.toLowerCase() && parts.length === segments.length && parts.every(fits);
  })!;
  checkThing(path, world, oracles, thing, answer);
}

/** @returns its path, with the secret */
async function addBell({ read }: RunningOperator, world: World): Promise<string> {
  const body = { name: 'door', audience: { user: 'nobody' } };
  const { path } = await read<{ readonly path: string }>('/v1/bells', { method: 'POST', body });
  world.audited.push({ atMs: world.nowMs, status: 200 });
  world.bell.createdAtMs = world.nowMs;
  return path;
}

/** Rings the bell, which reaches nobody. */
async function ring({ base, store }: RunningOperator, world: World, path: string): Promise<void> {
  const response = await fetch(base + path, { method: 'POST', body: `Ding ${world.bell.rungAtMs.length}` });
  assert.equal(response.status, 200);
  world.bell.rungAtMs.push(world.nowMs);
  const [newest] = await store.broadcasts.list({ limit: 1 });
  const { id, payload, ttlSeconds, urgency, topic } = newest!;
  world.addStory('of a bell', {
    id,
    draft: { ...madeUpBroadcast(world.nowMs), payload, ttlSeconds, urgency, topic },
    expiresAtMs: world.nowMs + ttlSeconds * 1000,
    own: { title: 'door', audience: { user: 'nobody' }, createdBy: { bell: 'door' } },
  });
}

/** Does on pages what an operator does, and looks at each of them. */
async function act(world: World, operator: RunningOperator, visitor: Visitor): Promise<void> {
  const step = async (open: () => Promise<unknown>, status = 0): Promise<void> => {
    const figures = await look(visitor, open);
    if (status !== 0) world.audited.push({ atMs: world.nowMs, status });
    check('acts', world, visitor, figures);
  };
  const story = await world.create('that is stopped');
  const url = `/console/broadcasts/${story.id}`;
  world.done = story.rows.length;
  await visitor.open(url);
  story.state = 'paused';
  await step(() => visitor.submit(`${url}/pause`), 303);
  await step(() => visitor.open(`${url}/resume`));
  story.state = 'running';
  await step(() => visitor.submit(`${url}/resume`), 303);
  await step(() => visitor.open(`${url}/cancel`));
  story.state = 'cancelled';
  story.endedAtMs = world.nowMs;
  world.events.push(world.nowMs);
  for (const row of story.rows) row.outcome = 'cancelled';
  await step(() => visitor.submit(`${url}/cancel`), 303);

  await step(() => visitor.open('/console/subscriptions/21/remove'));
  world.done = 1;
  world.lose(21, { by: 'eve' });
  await step(() => visitor.submit('/console/subscriptions/21/remove'), 303);

  const recipients = world.people.filter(({ isStored: is }) => is).length;
  world.draft = { ...noDraft, bytes: 35, recipients };
  const message = { title: 'Hello', message: 'World', audience: 'all', zone: 'UTC' };
  await visitor.open('/console/send');
  await step(() => visitor.submit('/console/send', message));
  await visitor.open('/console/send');
  world.draft = { ...world.draft, startAtMs: noonMs + 46 * hourMs };
  const later = { ...message, startAt: iso(noonMs + 46 * hourMs).slice(0, 16) };
  await step(() => visitor.submit('/console/send', later));
  await visitor.open('/console/send');
  const inZone = (zone: (typeof zones)[number]) =>
    world.people.filter((person) => person.isStored && person.zone === zone).length;
  // it is that time in Lagos now, and over in Tokyo
  world.draft = {
    ...world.draft,
    startAtMs: undefined,
    fromMs: world.nowMs,
    throughMs: world.nowMs + 16 * hourMs,
    readers: new Map([
      ['get it at once', inZone('Africa/Lagos')],
      ['get it later', inZone('America/Bogota') + inZone('Asia/Tokyo')],
      ['get it on the next day: their local time is over', inZone('Asia/Tokyo')],
    ]),
  };
  const inGerman = { languages: 'de', 'texts.de.title': 'Hallo', 'texts.de.message': 'Welt' };
  await step(() => visitor.submit('/console/send', { ...message, ...inGerman, localTime: '13:00' }));
  await visitor.open('/console/send');
  world.draft = { ...noDraft, bytes: 35, recipients, startAtMs: noonMs + 46 * hourMs };
  // a form has limits in its hints
  const form = await look(visitor, () => visitor.submit('/console/send', { ...later, step: 'edit' }));
  check('acts', world, visitor, form, false);

  await step(() => visitor.open('/console/people/remove?user=user-c'));
  world.removed = world.leave('user-c', 'eve');
  await step(() => visitor.submit('/console/people/remove'), 200);
  const [, receipt] = /Receipt: <code>(.+?)</.exec(visitor.page.html)!;
  await step(() => visitor.open(`/console/people?user=user-c&receipt=${receipt}`));
  world.removed = world.leave('user-d', 'tester');
  await change(operator, world, '/v1/subscriptions?user=user-d', undefined, 'DELETE');
  // that of its receipt
  world.audited.push({ atMs: world.nowMs, status: 200 });
}

/** What a webhook is posted. */
async function compareEvents(world: World): Promise<void> {
  const { webhooks, broadcasts } = world.store;
  const events = await webhooks.lease({ limit: 1000, leaseMs: 1000 });
  world.expect('events', () => assert.equal(events.length, world.events.length));
  const types = new Set(events.map(({ type }) => type));
  assert.deepEqual([...types].toSorted(), [
    'alarm',
    'broadcast.done',
    'person.unreached',
    'subscription.gone',
  ]);
  for (const event of events) {
    const { timestamp, data } = JSON.parse(await webhookBody(event, broadcasts)) as {
      readonly timestamp: string;
      readonly data: Json;
    };
    const story = world.stories.find(({ id }) => id === (data['broadcastId'] ?? data['id']))!;
    world.expect(`event ${event.type} ${JSON.stringify(data).slice(0, 99)}`, () => {
      if (event.type === 'subscription.gone') {
        const { id, user, endedAtMs } = world.people.find((person) => person.id === data['id'])!;
        assert.deepEqual([data, timestamp], [plain({ id, user }), iso(endedAtMs!)]);
      } else if (event.type === 'person.unreached') {
        assert.equal(story === undefined ? 0 : count(story, ({ outcome }) => outcome === 'accepted'), 0);
      } else if (event.type === 'alarm') {
        const { rows, detail, firstAtMs } = alarmsOf(story).find(
          ({ origin, reason }) => origin === data['origin'] && reason === data['reason'],
        )!;
        assert.deepEqual([data['detail'], timestamp], [detail, iso(firstAtMs)]);
        assert.ok(Number(data['rows']) >= 1 && Number(data['rows']) <= rows);
      } else {
        const {
          title: _title,
          leftOut: _leftOut,
          reachTimes: _reachTimes,
          changes: _changes,
          ...figures
        } = {
          ...broadcastOracle,
          ...ownOf(story),
        } as Readonly<Record<string, Oracle>>;
        const counted = Object.entries(figures).map(([name, figure]) => [name, figure(story, world)]);
        assert.deepEqual(data, plain(Object.fromEntries(counted)));
        assert.equal(timestamp, iso(story.endedAtMs!));
      }
    });
  }
}

/** What pages show only while somebody acts, or of many. */
const notShown =
  /^(alarm.other|answer.rarer|broadcast.unacc|draft.(ex|mem|pic)|more|overview.(open|shown)|review.looked)/;
