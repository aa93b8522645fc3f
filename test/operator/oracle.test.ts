// What console, API, CSV and metrics say of broadcasts is what a plain count over their rows gives: in every state, at several moments
// of the clock, from one store. The test keeps rows of its own, changes them as it changes the store's, and counts them; nothing of what
// it tests helps it. A name that is shown, and that it does not count, fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRoutes } from '../../src/http/description/openapi-document.ts';
import { operatorDescription } from '../../src/operator/api/add-api.ts';
import { csvHeader } from '../../src/operations/outcomes.ts';
import { settlements, type NewBroadcast, type Settlement } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { AudienceSplit, LeftOut } from '../../src/store/split-audience.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { madeUpBroadcast } from '../store/store-under-test.ts';
import { decode, signIn, type Visitor } from './console-visitor.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

const hosts = ['fcm.googleapis.com', 'updates.push.services.mozilla.com', 'web.push.apple.com'] as const;
const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo'] as const;
const subscriptions = 18;
const hourMs = 3_600_000;
const leaseMs = 10_000;
/** 12:00 in Berlin, 06:00 in New York, 20:00 in Tokyo. */
const noonMs = Date.parse('2026-12-01T11:00:00Z');

type Cause = 'now' | 'localTime' | 'retry' | 'turn' | 'pushService';

/** A subscription in a broadcast. */
interface Row {
  readonly id: number;
  readonly origin: string;
  readonly user: string | undefined;
  outcome: Settlement | 'pending' | 'removed' | 'cancelled' | LeftOut;
  /** Of a pending one: what keeps it, and until when. */
  cause: Cause;
  untilMs: number | undefined;
  readonly expiresAtMs: number;
  posts: number;
  tries: number;
  status: number | undefined;
  atMs: number | undefined;
}

const rowOf = ({ id, origin, user }: Person): Row => ({
  id,
  origin,
  user,
  outcome: 'pending',
  cause: 'now',
  untilMs: undefined,
  expiresAtMs: 0,
  posts: 0,
  tries: 0,
  status: undefined,
  atMs: undefined,
});

interface Story {
  readonly name: string;
  readonly id: number;
  readonly draft: NewBroadcast;
  readonly rows: readonly Row[];
  readonly startAtMs: number;
  readonly expiresAtMs: number;
  readonly createdAtMs: number;
  readonly leftOut: readonly Row[];
  /** Who is in it is written down, so that those are known who were removed before their turn. */
  readonly hasSets: boolean;
  readonly inactive?: number;
  readonly shown: Set<number>;
  readonly clicked: Set<number>;
  state: 'running' | 'paused' | 'cancelled';
  endedAtMs: number | undefined;
}

interface Person {
  readonly id: number;
  readonly origin: string;
  readonly zone: (typeof zones)[number];
  readonly user: string | undefined;
  readonly hasNews: boolean;
  isStored: boolean;
}

/** What comes of a row; `refused`: our token, so that its push service is held. */
type Fate = Settlement | 'retry' | 'turn' | 'refused';

class World {
  nowMs = noonMs;
  readonly people: Person[] = [];
  readonly stories: Story[] = [];
  /** Those that had a value. */
  readonly metrics = new Set<string>();
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async subscribe(): Promise<void> {
    await this.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
    for (let index = 0; index < subscriptions; index += 1) {
      const host = hosts[index % 3]!;
      const zone = zones[Math.floor(index / 3) % 3]!;
      const user = index < 12 ? `user-${'abcdef'[Math.floor(index / 2)]}` : undefined;
      const made = madeUpSubscription(index);
      const subscription = {
        ...made,
        endpoint: made.endpoint.replace('fcm.googleapis.com', host),
      };
      const hasNews = index < 15;
      const { id } = await this.store.subscriptions.register({
        subscription,
        vapidPublicKey,
        assign: { user, tags: [index < 6 ? 'few' : 'many'] },
        timeZone: zone,
        channels: { news: hasNews },
      });
      this.people.push({ id, origin: `https://${host}`, zone, user, hasNews, isStored: true });
    }
  }

  /** @param isIn whom it reaches. @param fromMs when somebody gets it */
  async create(
    name: string,
    {
      changes = {},
      split,
      isIn = () => true,
      leftOut,
      fromMs = () => changes.startAtMs ?? this.nowMs,
      inactive,
    }: {
      readonly changes?: Partial<NewBroadcast>;
      readonly split?: AudienceSplit;
      readonly isIn?: (person: Person) => boolean;
      /** Why the others that it was for are left out. */
      readonly leftOut?: LeftOut;
      readonly fromMs?: (person: Person) => number;
      readonly inactive?: number;
    } = {},
  ): Promise<Story> {
    const { broadcasts } = this.store;
    const lifetimeMs = 48 * hourMs;
    const draft = {
      ...madeUpBroadcast(this.nowMs, changes),
      ttlSeconds: lifetimeMs / 1000,
      expiresAtMs: (changes.startAtMs ?? this.nowMs) + lifetimeMs,
      createdBy: { operator: 'ada' },
      ...split?.times,
    };
    const needsSets = split !== undefined || changes.matching !== undefined;
    const audienceId = needsSets ? await broadcasts.openAudience() : undefined;
    const { broadcast } = await broadcasts.create({
      ...draft,
      ...(needsSets && { audienceId, matching: changes.matching ?? {} }),
      ...(split && { split, channel: split.channel?.name, skipInactive: split.skipInactive }),
    });
    if (needsSets) while (await broadcasts.prepare(broadcast.id, 'oracle'));
    const reached = this.people.filter((person) => person.isStored && isIn(person));
    const times = reached.map(fromMs);
    const startAtMs = Math.max(draft.startAtMs, times.length === 0 ? 0 : Math.min(...times));
    const story: Story = {
      name,
      id: broadcast.id,
      draft,
      createdAtMs: this.nowMs,
      hasSets: needsSets,
      startAtMs,
      expiresAtMs: split?.times ? Math.max(...times) + lifetimeMs : draft.expiresAtMs,
      ...(inactive !== undefined && { inactive }),
      shown: new Set(),
      clicked: new Set(),
      state: 'running',
      endedAtMs: reached.length === 0 ? this.nowMs : undefined,
      rows: reached.map((person) => ({
        ...rowOf(person),
        outcome: 'pending',
        cause: split?.times && fromMs(person) > this.nowMs ? 'localTime' : 'now',
        untilMs: split?.times ? fromMs(person) : undefined,
        expiresAtMs: fromMs(person) + lifetimeMs,
      })),
      leftOut:
        leftOut === undefined
          ? []
          : this.people
              .filter((person) => person.isStored && !isIn(person))
              .map((person) => ({ ...rowOf(person), outcome: leftOut })),
    };
    this.stories.push(story);
    return story;
  }

  /** Sends what can be sent now. */
  async deliver(story: Story, fateOf: (row: Row) => Fate): Promise<void> {
    const { leases, ledger } = this.store;
    for (;;) {
      const slice = await leases.leaseSlice({ leaseMs, broadcastId: story.id });
      if (slice === undefined) break;
      const { fenceToken, slice: number, cursor: fromCursor, throughPosition: cursor, members } = slice;
      const read = await ledger.readRows(slice, fromCursor, 1000);
      const found = new Set(read.map(({ subscriptionId }) => subscriptionId));
      for (const row of story.rows) {
        const isBehind = row.id > fromCursor && row.id <= cursor && (members?.ids.includes(row.id) ?? true);
        if (row.outcome === 'pending' && isBehind && !found.has(row.id)) row.outcome = 'removed';
      }
      const expected = members?.ids.filter((id) => id > fromCursor).length;
      const rows = read.map((recipient) => this.#settle(story, recipient, fateOf));
      await ledger.commit({
        broadcastId: story.id,
        fenceToken,
        slice: { number, fromCursor, cursor, missing: expected && expected - read.length },
        rows,
        answers: this.#answersOf(rows),
        leaseMs,
      });
    }
    const due = await leases.leaseRetries({ leaseMs, broadcastId: story.id, limit: 100 });
    for (const row of story.rows) {
      const isDue =
        row.cause !== 'now' && row.cause !== 'localTime' && (row.untilMs ?? Infinity) <= this.nowMs;
      if (row.outcome === 'pending' && isDue && !this.#isStored(row)) row.outcome = 'removed';
    }
    if (due !== undefined) {
      const rows = due.rows.map((recipient) => this.#settle(story, recipient, fateOf));
      await ledger.commit({ broadcastId: story.id, fenceToken: due.fenceToken, rows, leaseMs });
    }
    if (story.rows.every(({ outcome }) => outcome !== 'pending')) story.endedAtMs ??= this.nowMs;
  }

  #isStored = ({ id }: Row): boolean => this.people.find((person) => person.id === id)!.isStored;

  #answersOf = (rows: readonly RowResult[]) =>
    rows.some(({ result }) => result === 'heldBack')
      ? [
          {
            origin: rows.find(({ result }) => result === 'heldBack')!.origin,
            vapidPublicKey,
            accepted: 0,
            hasRefused: true,
            refusalsInRow: 100,
          },
        ]
      : [];

  #settle(story: Story, recipient: RowResult['recipient'], fateOf: (row: Row) => Fate): RowResult {
    const row = story.rows.find(({ id }) => id === recipient.subscriptionId)!;
    const fate = fateOf(row);
    const common = { recipient, origin: row.origin };
    const { expiresAtMs } = row;
    row.atMs = this.nowMs;
    if (fate === 'turn' || fate === 'refused') {
      const retry = { delayMs: fate === 'turn' ? 60_000 : 0, attempts: 0, deferrals: 1, expiresAtMs };
      row.cause = fate === 'turn' ? 'turn' : 'pushService';
      row.untilMs = fate === 'turn' ? this.nowMs + 60_000 : undefined;
      row.atMs = undefined;
      return fate === 'turn'
        ? { ...common, attempts: 0, result: 'retry', retry }
        : { ...common, attempts: 0, result: 'heldBack', retry, suspension: { vapidPublicKey, drawOrder: 1 } };
    }
    const isPosted = fate !== 'expired' && fate !== 'capped';
    row.posts += Number(isPosted);
    row.tries = isPosted ? row.tries + 1 : row.tries;
    row.status = { accepted: 201, gone: 410, rejected: 413, retry: 503 }[fate as string];
    const record = {
      ...(isPosted && { atMs: this.nowMs }),
      attempt: row.tries,
      ...(row.status !== undefined && { status: row.status }),
    };
    const answered = { ...common, attempts: isPosted ? (1 as const) : (0 as const), record };
    if (fate === 'retry') {
      row.cause = 'retry';
      row.untilMs = this.nowMs + 120_000;
      const retry = { delayMs: 120_000, attempts: row.tries, deferrals: 0, expiresAtMs };
      return { ...answered, result: 'retry', retry };
    }
    row.outcome = fate;
    const person = this.people.find(({ id }) => id === row.id)!;
    if (fate === 'gone') person.isStored = false;
    return { ...answered, result: fate };
  }

  async cancel(story: Story): Promise<void> {
    await this.store.broadcasts.cancel(story.id);
    story.state = 'cancelled';
    story.endedAtMs = this.nowMs;
    for (const row of story.rows) if (row.outcome === 'pending') row.outcome = 'cancelled';
  }

  async remove(isRemoved: (person: Person) => boolean): Promise<void> {
    for (const person of this.people.filter((each) => each.isStored && isRemoved(each))) {
      await this.store.subscriptions.removeById(person.id);
      person.isStored = false;
    }
  }

  async report(story: Story, event: 'shown' | 'clicked', ids: readonly number[]): Promise<void> {
    const of = event === 'shown' ? story.shown : story.clicked;
    for (const id of ids) of.add(id);
    await this.store.receipts.add(
      ids.map((subscriptionId) => ({ broadcastId: story.id, subscriptionId, event })),
    );
  }
}

// The oracle: for each name, a count over rows.

type Json = Readonly<Record<string, unknown>>;
type Oracle = (story: Story, world: World) => unknown;

const count = (story: Story, isMeant: (row: Row) => boolean): number => story.rows.filter(isMeant).length;
const isPending = ({ outcome }: Row): boolean => outcome === 'pending';
const ofOutcome =
  (outcome: Row['outcome']): Oracle =>
  (story) =>
    count(story, (row) => row.outcome === outcome);

/** A local time that has come makes a row sendable. */
const causeOf = (row: Row, { nowMs }: World): Cause =>
  row.cause === 'localTime' && row.untilMs! <= nowMs ? 'now' : row.cause;

const ofCause = (story: Story, world: World, cause: Cause): number =>
  count(story, (row) => isPending(row) && causeOf(row, world) === cause);

const isOver = ({ endedAtMs }: Story): boolean => endedAtMs !== undefined;

function stateOf(story: Story, { nowMs }: World): string {
  if (story.state === 'running' && isOver(story)) return 'done';
  return story.state === 'running' && story.startAtMs > nowMs ? 'scheduled' : story.state;
}

const iso = (atMs: number): string => new Date(atMs).toISOString();

/** Of which a row was looked at, in order. */
const originsOf = (story: Story): readonly string[] =>
  [
    ...new Set(
      story.rows
        .filter((row) => isSettlement(row.outcome) || (row.cause !== 'now' && row.cause !== 'localTime'))
        .map(({ origin }) => origin),
    ),
  ].toSorted();

const isSettlement = (outcome: Row['outcome']): boolean =>
  (settlements as readonly string[]).includes(outcome);

function waitsOf(story: Story, world: World): readonly object[] {
  const causes = (['now', 'localTime', 'retry', 'turn'] as const).map((cause) => ({
    for: cause,
    rows: ofCause(story, world, cause),
  }));
  return [...causes, ...heldBackOf(story, world).map((held) => ({ for: 'pushService', ...held }))].filter(
    ({ rows }) => rows > 0,
  );
}

const heldBackOf = (story: Story, world: World): readonly { origin: string; rows: number }[] =>
  hosts
    .map((host) => `https://${host}`)
    .map((origin) => ({
      origin,
      rows: count(
        story,
        (row) => isPending(row) && row.origin === origin && causeOf(row, world) === 'pushService',
      ),
    }))
    .filter(({ rows }) => rows > 0);

function nextPartOf(story: Story, world: World): string | undefined {
  if (isOver(story)) return undefined;
  if (stateOf(story, world) === 'scheduled') return iso(story.startAtMs);
  if (stateOf(story, world) !== 'running' || ofCause(story, world, 'now') > 0) return undefined;
  const times = story.rows.filter(isPending).flatMap(({ untilMs }) => untilMs ?? []);
  const next = Math.min(...times);
  return next > world.nowMs && next < Infinity ? iso(next) : undefined;
}

const reports = (story: Story, event: 'shown' | 'clicked', origin?: string): number =>
  count(
    story,
    (row) =>
      (event === 'shown' ? story.shown : story.clicked).has(row.id) &&
      (origin === undefined || row.origin === origin),
  );

const asksReceipts = ({ draft }: Story): boolean => draft.receiptActions !== undefined;

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
  alarms: () => [],
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
  texts: () => undefined,
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

const isStored = ({ id }: Row, { people }: World): boolean =>
  people.find((person) => person.id === id)!.isStored;

function stateOfRow(row: Row, world: World): string {
  if (row.outcome !== 'pending') return row.outcome;
  const cause = causeOf(row, world);
  if (!isStored(row, world) && (cause === 'now' || cause === 'localTime')) return 'removed';
  return cause === 'now' ? 'pending' : 'waiting';
}

const isWaiting = (row: Row, world: World): boolean => stateOfRow(row, world) === 'waiting';

/** By the columns of the CSV. */
const csvOracle: Readonly<Record<string, (row: Row, story: Story, world: World) => string | number>> = {
  subscription: ({ id }) => id,
  user: (row, _story, world) => (isStored(row, world) ? (row.user ?? '') : ''),
  push_service: (row, _story, world) =>
    row.posts > 0 || isSettlement(row.outcome) || isStored(row, world) ? row.origin : '',
  state: (row, _story, world) => stateOfRow(row, world),
  status: ({ status }) => status ?? '',
  reason: () => '',
  answer: () => '',
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
  deletion_held_since: () => '',
};

const running = (world: World): readonly Story[] =>
  world.stories.filter((story) => stateOf(story, world) === 'running');
const sumOf = (stories: readonly Story[], figure: (story: Story) => number): number =>
  stories.reduce((sum, story) => sum + figure(story), 0);

/** A push service goes by its domain, if that is known. */
const isOf = (row: Row, name: string | undefined): boolean =>
  `.${new URL(row.origin).host}`.endsWith(`.${name}`);

/** Those of the store; the others are of a process or a machine. */
const metricsOracle: Readonly<
  Record<string, (world: World, labels: Readonly<Record<string, string>>) => number>
> = {
  messages_total: ({ stories }, { origin, outcome }) =>
    sumOf(stories, (story) => count(story, (row) => isOf(row, origin) && row.outcome === outcome)),
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
    assert.deepEqual(shown, plain(counted), at);

    const page = await visitor.open(`/console/broadcasts/${story.id}`);
    const { 'Time to 50 %': _50, 'Time to 95 %': _95, 'Time to 99 %': _99, ...tiles } = tilesOf(page);
    assert.deepEqual(tiles, tilesOracle(story, world), at);
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
    assert.deepEqual(
      lines,
      known.map((row) =>
        Object.values(csvOracle)
          .map((cell) => cell(row, story, world))
          .join(','),
      ),
      at,
    );
  }
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
    assert.equal(Number(value), figure(world, labels), `${moment}: ${name} ${given}`);
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
  const paused = await world.create('paused');
  const cancelled = await world.create('cancelled on its way');
  const expired = await world.create('expired');
  const asking = await world.create('with receipts', { changes: { receiptActions: [] } });
  await compare('when they were made', world, operator, visitor);

  const fates: readonly Fate[] = ['accepted', 'rejected', 'doubtful', 'exhausted', 'capped', 'retry'];
  await world.deliver(mixed, ({ id }) => fates[id % fates.length]!);
  await world.deliver(channel, () => 'accepted');
  await world.deliver(quiet, () => 'accepted');
  await world.deliver(held, ({ origin }) => (origin.endsWith(hosts[2]) ? 'refused' : 'accepted'));
  await world.deliver(away, ({ origin }) => (origin.endsWith(hosts[1]) ? 'turn' : 'accepted'));
  await world.deliver(cancelled, ({ id }) => (id % 2 === 0 ? 'accepted' : 'retry'));
  await world.deliver(expired, () => 'expired');
  await world.deliver(asking, () => 'accepted');
  await world.report(asking, 'shown', [1, 2, 3, 4, 5]);
  await world.report(asking, 'clicked', [1, 2]);
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
  await compare('when a subscription has ended', world, operator, visitor);

  world.nowMs += hourMs;
  await world.remove(({ user }) => user === 'user-a');
  await compare('an hour later, when a person is gone', world, operator, visitor);
  await world.deliver(mixed, () => 'accepted');
  await world.deliver(local, () => 'accepted');
  await world.deliver(away, () => 'accepted');
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
});
