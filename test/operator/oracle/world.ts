// A store, and what a test knows of it by itself: it keeps rows of its own, changes them as it changes the store's, and counts them plainly.
import type { ReportedPushService } from '../../../src/store/sending.ts';
import { settlements, type NewBroadcast, type Settlement } from '../../../src/store/broadcasts.ts';
import type { RowResult } from '../../../src/store/ledger.ts';
import type { LossReason } from '../../../src/store/losses.ts';
import { heldDeletionsDetail, heldDeletionsReason } from '../../../src/store/held-deletions.ts';
import type { AudienceSplit, LeftOut } from '../../../src/store/split-audience.ts';
import type { Store } from '../../../src/store/store.ts';
import { madeUpSubscription, nothingRemoved, vapidPublicKey } from '../../store/made-up-subscription.ts';
import { madeUpBroadcast } from '../../store/store-under-test.ts';

export const hosts = [
  'fcm.googleapis.com',
  'updates.push.services.mozilla.com',
  'web.push.apple.com',
] as const;
/** Without summer time, since the day is today's. */
export const zones = ['Africa/Lagos', 'America/Bogota', 'Asia/Tokyo'] as const;
/** Windows calls all of its subscriptions gone. */
export const windows = 'db5p.notify.windows.com';
const others = 18;
const subscriptions = others + 22;
export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
export const leaseMs = 10_000;
/** Tomorrow, since the database says by its own clock when a subscription was lost: 12:00 in Lagos, 06:00 in Bogota, 20:00 in Tokyo. */
export const noonMs = Math.ceil(Date.now() / dayMs) * dayMs + 11 * hourMs;

export type Cause = 'now' | 'localTime' | 'retry' | 'turn' | 'pushService';

/** A subscription in a broadcast. */
export interface Row {
  readonly id: number;
  readonly origin: string;
  readonly user: string | undefined;
  outcome: Settlement | 'pending' | 'removed' | 'cancelled' | LeftOut;
  /** It waited outside the end of the broadcast, or does: as `dormant`. */
  wasOutside: boolean;
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
  wasOutside: false,
  cause: 'now',
  untilMs: undefined,
  expiresAtMs: 0,
  posts: 0,
  tries: 0,
  status: undefined,
  atMs: undefined,
});

export interface Story {
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
  /** Members of the API that are not as those of the others. */
  readonly own?: Json;
  readonly shown: Set<number>;
  readonly clicked: Set<number>;
  /** Those of them that clicked on the action that the message has. */
  readonly onAction: Set<number>;
  /** What push services said. */
  readonly met: {
    readonly origin: string;
    readonly reason: string;
    readonly detail: string;
    readonly atMs: number;
  }[];
  state: 'running' | 'paused' | 'cancelled';
  endedAtMs: number | undefined;
  /** By operators and commands, the newest first. */
  readonly changes: object[];
}

export interface Person {
  readonly id: number;
  readonly origin: string;
  readonly zone: (typeof zones)[number];
  readonly user: string | undefined;
  readonly language: string;
  readonly hasNews: boolean;
  readonly tag: string;
  readonly createdAtMs: number;
  /** When its browser was last here; `undefined`: it was imported, and its browser has not been here. */
  visitMs: number | undefined;
  isStored: boolean;
  /** Called gone, and kept until an operator decides. */
  heldSinceMs: number | undefined;
  /** Called gone, and believed. */
  endedAtMs: number | undefined;
}

/** A subscription that has left. */
export interface Lost {
  readonly person: Person;
  readonly atMs: number;
  readonly reason: LossReason;
  readonly by: string | undefined;
  /** It went with its person, and so has no id. */
  readonly isOfPerson: boolean;
}

/** What came of a row, and when. */
export interface Post {
  readonly story: Story;
  readonly row: Row;
  readonly atMs: number;
  readonly outcome: Settlement | 'retry';
  readonly posts: number;
  readonly status: number | undefined;
}

export interface Reporter {
  readonly machine: string;
  readonly kind: 'worker' | 'single';
  readonly seenAtMs: number;
  readonly pushServices: readonly ReportedPushService[];
}

export interface MadeSchedule {
  readonly id: number;
  readonly createdAtMs: number;
  readonly nextAtMs: number;
  pausedAtMs: number | undefined;
}

/** A message that is composed. */
export interface Draft {
  readonly bytes: number;
  readonly maxBytes: number;
  readonly memberBytes: number;
  readonly pictureBytes: number;
  readonly recipients: number;
  readonly startAtMs: number | undefined;
  readonly fromMs: number | undefined;
  readonly throughMs: number | undefined;
  /** By what is said of them. */
  readonly readers: ReadonlyMap<string, number>;
}

export const noDraft: Draft = {
  bytes: 0,
  maxBytes: 3993,
  memberBytes: 0,
  pictureBytes: 0,
  recipients: 0,
  startAtMs: undefined,
  fromMs: undefined,
  throughMs: undefined,
  readers: new Map(),
};

/** What push services say. */
export const saidBy = {
  rejected: { reason: 'payload-too-large', detail: 'Too large' },
  refused: { reason: 'vapid-refused', detail: 'BadJwtToken' },
} as const;

/** A key that is refused where `vapidPublicKey` is. */
export const secondKey = 'second key';

/** What comes of a row; `refused`: our token, so that its push service is held. `dormant`: it waits, and the broadcast does not. */
export type Fate = Settlement | 'retry' | 'turn' | 'refused';

const stays = { isStored: true, heldSinceMs: undefined, endedAtMs: undefined } as const;

/** A browser by its number, and what is stored of it. */
function browser(index: number) {
  const host = index < others || index >= subscriptions ? hosts[index % 3]! : windows;
  const made = madeUpSubscription(index);
  const person = {
    origin: `https://${host}`,
    zone: zones[Math.floor(index / 3) % 3]!,
    user: index < 12 ? `user-${'abcdef'[Math.floor(index / 2)]}` : undefined,
    language: index % 2 === 0 ? 'de' : 'en',
    hasNews: index < 15,
    tag: index < 6 ? 'few' : 'many',
  } as const;
  const row = {
    subscription: { ...made, endpoint: made.endpoint.replace('fcm.googleapis.com', host) },
    vapidPublicKey,
    assign: { user: person.user, tags: [person.tag] },
    timeZone: person.zone,
    language: person.language,
    channels: { news: person.hasNews },
  };
  return { person, row };
}

export class World {
  nowMs = noonMs;
  readonly people: Person[] = [];
  readonly stories: Story[] = [];
  readonly posts: Post[] = [];
  readonly reporters: Reporter[] = [];
  readonly schedules: MadeSchedule[] = [];
  readonly lost: Lost[] = [];
  /** What the console last did to so many. */
  done = 0;
  /** What was removed of a person. */
  removed: Readonly<typeof nothingRemoved> = nothingRemoved;
  readonly bell = { createdAtMs: 0, rungAtMs: [] as number[] };
  readonly audited: { readonly atMs: number; readonly status: number }[] = [];
  /** Posted to a webhook: when each happened. */
  readonly events: number[] = [];
  dropped = 0;
  readonly acknowledged = new Map<string, number>();
  /** Of people: whether they have the channel news on, as they chose; and their number. */
  readonly choices = new Map<string, boolean>();
  readonly data = new Map<string, number>();
  /** What is being written. */
  draft: Draft = noDraft;
  /** Those that had a value. */
  readonly metrics = new Set<string>();
  /** Those that pages have shown. */
  readonly shown = new Set<string>();
  /** Models of the API whose things were compared. */
  readonly models = new Set<string>();
  /** What is shown and is not so. */
  readonly faults = new Set<string>();

  /** Notes what is not as it must be, and goes on. */
  expect(at: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      this.faults.add(`${at}: ${(error as Error).message}`);
    }
  }

  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async subscribe(): Promise<void> {
    await this.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
    for (let index = 0; index < subscriptions - 1; index += 1) await this.register(index);
    const { person, row } = browser(subscriptions - 1);
    await this.store.subscriptions.putAll([row]);
    const [{ id } = { id: 0 }] = await this.store.subscriptions.page({
      afterId: this.people.length,
      limit: 1,
    });
    // it was imported, and its browser has not been here
    this.people.push({ ...stays, ...person, id, createdAtMs: this.nowMs, visitMs: undefined });
  }

  /** A browser registers, for the first time or again. @param former whose place it takes */
  async register(index: number, former?: number): Promise<void> {
    const { person, row } = browser(index);
    const registered = {
      ...row,
      ...(former !== undefined && { former: browser(former).row.subscription, replacesFormer: true }),
    };
    const { id } = await this.store.subscriptions.register(registered);
    const known = this.people.find((each) => each.id === id);
    if (known === undefined)
      this.people.push({ ...stays, ...person, id, createdAtMs: this.nowMs, visitMs: this.nowMs });
    else known.visitMs = this.nowMs;
    if (former !== undefined) this.lose(former + 1, { reason: 'replaced' });
  }

  async unsubscribe(index: number): Promise<void> {
    const { endpoint, auth } = browser(index).row.subscription;
    await this.store.subscriptions.removeByEndpoint(endpoint, auth);
    this.lose(index + 1, { reason: 'unsubscribed' });
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
      onAction: new Set(),
      met: [],
      state: 'running',
      endedAtMs: reached.length === 0 ? this.nowMs : undefined,
      changes: [],
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
    if (reached.length === 0) this.events.push(this.nowMs);
    return story;
  }

  /** Sends what can be sent now, or so many of its slices. */
  async deliver(story: Story, fateOf: (row: Row) => Fate, slices = Infinity): Promise<void> {
    const { leases, ledger } = this.store;
    for (let sent = 0; sent < slices; sent += 1) {
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
      if (!isDue || this.#isStored(row)) continue;
      if (row.outcome === 'pending') row.outcome = 'removed';
      if (row.outcome === 'dormant') row.untilMs = undefined;
    }
    if (due !== undefined) {
      const rows = due.rows.map((recipient) => this.#settle(story, recipient, fateOf));
      await ledger.commit({ broadcastId: story.id, fenceToken: due.fenceToken, rows, leaseMs });
    }
    if (story.endedAtMs !== undefined || story.rows.some(isPending)) return;
    story.endedAtMs = this.nowMs;
    this.events.push(this.nowMs);
  }

  #meet(story: Story, met: Story['met'][number]): void {
    if (!story.met.some(({ origin, reason }) => origin === met.origin && reason === met.reason))
      this.events.push(met.atMs);
    story.met.push(met);
  }

  /** Those that report now. */
  get senders(): readonly Reporter[] {
    return this.reporters.filter(({ seenAtMs }) => seenAtMs >= this.nowMs - 20_000);
  }

  get workers(): readonly Reporter[] {
    return this.senders.filter(({ kind }) => kind === 'worker');
  }

  #isStored = ({ id }: Row): boolean => this.people.find((person) => person.id === id)!.isStored;

  /** Where rows are held back, two of our keys are refused, and with another one the push service asked to wait. */
  #answersOf = (rows: readonly RowResult[]) => {
    const { origin } = rows.find(({ result }) => result === 'heldBack') ?? {};
    if (origin === undefined) return [];
    const none = { origin, accepted: 0, hasRefused: false, refusalsInRow: 0 };
    return [
      { ...none, vapidPublicKey, hasRefused: true, refusalsInRow: 100 },
      { ...none, vapidPublicKey: secondKey, hasRefused: true, refusalsInRow: 100 },
      { ...none, vapidPublicKey: 'another', waitMs: 60_000 },
    ];
  };

  #settle(story: Story, recipient: RowResult['recipient'], fateOf: (row: Row) => Fate): RowResult {
    const row = story.rows.find(({ id }) => id === recipient.subscriptionId)!;
    const fate = fateOf(row);
    const common = { recipient, origin: row.origin };
    const { expiresAtMs } = row;
    row.atMs = this.nowMs;
    if (fate === 'rejected' || fate === 'refused')
      this.#meet(story, { ...saidBy[fate], origin: row.origin, atMs: this.nowMs });
    if (fate === 'turn' || fate === 'refused') {
      const retry = { delayMs: fate === 'turn' ? 60_000 : 0, attempts: 0, deferrals: 1, expiresAtMs };
      row.cause = fate === 'turn' ? 'turn' : 'pushService';
      row.untilMs = fate === 'turn' ? this.nowMs + 60_000 : undefined;
      row.atMs = undefined;
      return fate === 'turn'
        ? { ...common, attempts: 0, result: 'retry', retry }
        : {
            ...common,
            attempts: 0,
            result: 'heldBack',
            retry,
            suspension: { vapidPublicKey, drawOrder: 1 },
            alarm: saidBy.refused,
          };
    }
    const isPosted = fate !== 'expired' && fate !== 'capped';
    row.posts += Number(isPosted);
    row.tries = isPosted ? row.tries + 1 : row.tries;
    row.status = { accepted: 201, gone: 410, rejected: 413, retry: 503, dormant: 503 }[fate as string];
    const record = {
      ...(isPosted && { atMs: this.nowMs }),
      attempt: row.tries,
      ...(row.status !== undefined && { status: row.status }),
      ...(fate === 'rejected' && saidBy.rejected),
    };
    const answered = {
      ...common,
      attempts: isPosted ? (1 as const) : (0 as const),
      record,
      wasOutside: row.wasOutside,
      ...(fate === 'rejected' && { alarm: saidBy.rejected }),
    };
    this.posts.push({
      story,
      row,
      atMs: this.nowMs,
      outcome: fate,
      posts: Number(isPosted),
      status: row.status,
    });
    if (fate === 'retry' || fate === 'dormant') {
      const isOutside = fate === 'dormant';
      row.cause = 'retry';
      row.untilMs = this.nowMs + 120_000;
      if (isOutside) Object.assign(row, { outcome: fate, wasOutside: true });
      const retry = { delayMs: 120_000, attempts: row.tries, deferrals: 0, expiresAtMs, isOutside };
      return { ...answered, result: 'retry', retry };
    }
    row.outcome = fate;
    const person = this.people.find(({ id }) => id === row.id)!;
    if (fate === 'accepted') person.heldSinceMs = undefined;
    if (fate === 'gone' && person.origin === `https://${windows}`) {
      person.heldSinceMs ??= this.nowMs;
      const detail = heldDeletionsDetail(row.origin);
      this.#meet(story, { origin: row.origin, reason: heldDeletionsReason, detail, atMs: this.nowMs });
    } else if (fate === 'gone') {
      this.#lose(person, { reason: 'gone' });
      person.endedAtMs = this.nowMs;
      this.events.push(this.nowMs);
    }
    return { ...answered, result: fate };
  }

  async cancel(story: Story): Promise<void> {
    await this.store.broadcasts.cancel(story.id);
    story.state = 'cancelled';
    story.endedAtMs = this.nowMs;
    this.events.push(this.nowMs);
    for (const row of story.rows) if (row.outcome === 'pending') row.outcome = 'cancelled';
  }

  /** The receiver of the webhook never takes the oldest event. */
  async dropEvent(): Promise<void> {
    const { webhooks } = this.store;
    const [oldest] = await webhooks.lease({ limit: 1, leaseMs: 1 });
    await webhooks.drop(oldest!.id);
    this.events.shift();
    this.dropped += 1;
  }

  /** A broadcast to nobody that this did not make. */
  addStory(name: string, story: Pick<Story, 'id' | 'draft' | 'expiresAtMs' | 'own'>): void {
    const { nowMs } = this;
    const times = { startAtMs: nowMs, createdAtMs: nowMs, endedAtMs: nowMs };
    const none = {
      rows: [],
      leftOut: [],
      met: [],
      changes: [],
      shown: new Set<number>(),
      clicked: new Set<number>(),
      onAction: new Set<number>(),
    };
    this.stories.push({ name, hasSets: true, state: 'running', ...none, ...times, ...story });
    // that it is done, and that it reached nobody of its person
    this.events.push(nowMs, nowMs);
  }

  lose(id: number, how: Partial<Lost>): void {
    this.#lose(
      this.people.find((person) => person.id === id)!,
      how,
    );
  }

  /** A person is removed. @returns what was of them */
  leave(user: string, by: string): World['removed'] {
    const theirs = this.people.filter((person) => person.user === user);
    const ids = new Set(theirs.map(({ id }) => id));
    const stored = theirs.filter(({ isStored }) => isStored);
    for (const person of stored) this.#lose(person, { by, isOfPerson: true });
    const isTheirs = ({ id }: { readonly id: number }): boolean => ids.has(id);
    const reported = this.stories.flatMap(({ shown, clicked }) => [...shown, ...clicked]);
    const listed = this.stories.filter(({ hasSets }) => hasSets);
    return {
      ...this.removed,
      subscriptions: stored.length,
      attempts: this.posts.filter(({ row }) => isTheirs(row)).length,
      receipts: reported.filter((id) => ids.has(id)).length,
      recipients: listed.flatMap(({ rows, leftOut }) => [...rows, ...leftOut]).filter(isTheirs).length,
    };
  }

  async remove(isRemoved: (person: Person) => boolean): Promise<void> {
    for (const person of this.people.filter((each) => each.isStored && isRemoved(each))) {
      await this.store.subscriptions.removeById(person.id);
      this.#lose(person);
    }
  }

  #lose(person: Person, how: Partial<Lost> = {}): void {
    person.isStored = false;
    // triggers of the database know no other clock
    const lost = { person, atMs: Date.now(), reason: 'removed', by: undefined, isOfPerson: false } as const;
    this.lost.push({ ...lost, ...how });
  }

  async report(
    reports: readonly (Pick<Reporter, 'machine' | 'pushServices'> & Partial<Reporter>)[],
  ): Promise<void> {
    for (const [processId, given] of reports.entries()) {
      const reporter = { kind: 'worker', seenAtMs: this.nowMs, ...given } as const;
      this.reporters.push(reporter);
      const { seenAtMs: startedAtMs, ...report } = reporter;
      await this.store.senders.put({ ...report, id: `${processId} ${this.nowMs}`, processId, startedAtMs });
    }
  }

  async tell(
    story: Story,
    event: 'shown' | 'clicked',
    ids: readonly number[],
    action?: string,
  ): Promise<void> {
    for (const id of ids) {
      story[event].add(id);
      if (action !== undefined) story.onAction.add(id);
    }
    await this.store.receipts.add(
      ids.map((subscriptionId) => ({ broadcastId: story.id, subscriptionId, event, action })),
    );
  }
}

// Plain counts.

export type Json = Readonly<Record<string, unknown>>;
export type Oracle = (story: Story, world: World) => unknown;

export const count = (story: Story, isMeant: (row: Row) => boolean): number =>
  story.rows.filter(isMeant).length;
export const isPending = ({ outcome }: Row): boolean => outcome === 'pending';
export const ofOutcome =
  (outcome: Row['outcome']): Oracle =>
  (story) =>
    count(story, (row) => row.outcome === outcome);

/** How long after its start each acceptance came, in order. */
export const acceptancesOf = ({ rows, startAtMs }: Story): readonly number[] =>
  rows
    .filter(({ outcome }) => outcome === 'accepted')
    .map(({ atMs }) => atMs! - startAtMs)
    .toSorted((one, other) => one - other);

/** So many are this share of the recipients; those who were removed before their turn are none. */
export const shareOfRecipients = (story: Story, percent: number): number =>
  Math.ceil((count(story, ({ outcome }) => outcome !== 'removed') * percent) / 100);

/** How long after its start this share was reached, if it was. */
export const reachedAfterMs = (story: Story, percent: number): number | undefined =>
  acceptancesOf(story)[shareOfRecipients(story, percent) - 1];

/** The names of what a removal of a person counts. */
export const removedNames = Object.keys(nothingRemoved) as readonly (keyof typeof nothingRemoved)[];

/** A local time that has come makes a row sendable. */
export const causeOf = (row: Row, { nowMs }: World): Cause =>
  row.cause === 'localTime' && row.untilMs! <= nowMs ? 'now' : row.cause;

export const ofCause = (story: Story, world: World, cause: Cause): number =>
  count(story, (row) => isPending(row) && causeOf(row, world) === cause);

export const isOver = ({ endedAtMs }: Story): boolean => endedAtMs !== undefined;

export function stateOf(story: Story, { nowMs }: World): string {
  if (story.state === 'running' && isOver(story)) return 'done';
  return story.state === 'running' && story.startAtMs > nowMs ? 'scheduled' : story.state;
}

export const iso = (atMs: number): string => new Date(atMs).toISOString();

/** Of which a row was looked at, in order. */
export const originsOf = (story: Story): readonly string[] =>
  [
    ...new Set(
      story.rows
        .filter((row) => isSettlement(row.outcome) || (row.cause !== 'now' && row.cause !== 'localTime'))
        .map(({ origin }) => origin),
    ),
  ].toSorted();

export const isSettlement = (outcome: Row['outcome']): boolean =>
  (settlements as readonly string[]).includes(outcome);

export function waitsOf(story: Story, world: World): readonly object[] {
  const causes = (['now', 'localTime', 'retry', 'turn'] as const).map((cause) => ({
    for: cause,
    rows: ofCause(story, world, cause),
  }));
  return [...causes, ...heldBackOf(story, world).map((held) => ({ for: 'pushService', ...held }))].filter(
    ({ rows }) => rows > 0,
  );
}

export const heldBackOf = (story: Story, world: World): readonly { origin: string; rows: number }[] =>
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

export function nextPartOf(story: Story, world: World): string | undefined {
  if (isOver(story)) return undefined;
  if (stateOf(story, world) === 'scheduled') return iso(story.startAtMs);
  if (stateOf(story, world) !== 'running' || ofCause(story, world, 'now') > 0) return undefined;
  const times = story.rows.filter(isPending).flatMap(({ untilMs }) => untilMs ?? []);
  const next = Math.min(...times);
  return next > world.nowMs && next < Infinity ? iso(next) : undefined;
}

export const reports = (story: Story, event: 'shown' | 'clicked' | 'onAction', origin?: string): number =>
  count(story, (row) => story[event].has(row.id) && (origin === undefined || row.origin === origin));

export const asksReceipts = ({ draft }: Story): boolean => draft.receiptActions !== undefined;

/** A push service goes by its domain, if that is known. */
export const isOf = ({ origin }: Pick<Row, 'origin'>, name: string | undefined): boolean =>
  `.${new URL(origin).host}`.endsWith(`.${name}`);

export const isStored = ({ id }: Row, { people }: World): boolean =>
  people.find((person) => person.id === id)!.isStored;

export function stateOfRow(row: Row, world: World): string {
  if (row.outcome !== 'pending') return row.outcome;
  const cause = causeOf(row, world);
  if (!isStored(row, world) && (cause === 'now' || cause === 'localTime')) return 'removed';
  return cause === 'now' ? 'pending' : 'waiting';
}

/** What a broadcast has met. */
export function alarmsOf(story: Story): readonly {
  readonly origin: string;
  readonly reason: string;
  readonly detail: string;
  readonly rows: number;
  readonly firstAtMs: number;
}[] {
  const kinds = [...new Set(story.met.map(({ origin, reason }) => `${origin} ${reason}`))];
  return kinds
    .map((kind) => {
      const same = story.met.filter(({ origin, reason }) => `${origin} ${reason}` === kind);
      const { origin, reason, detail, atMs } = same[0]!;
      return { origin, reason, detail, rows: same.length, firstAtMs: atMs };
    })
    .toSorted((one, other) => one.firstAtMs - other.firstAtMs || (one.origin < other.origin ? -1 : 1));
}

const domains = ['push.services.mozilla.com', 'push.apple.com', 'notify.windows.com'];
const nameOf = (origin: string): string =>
  domains.find((domain) => isOf({ origin }, domain)) ?? new URL(origin).host;

export interface ExpectedAlarm {
  readonly id: string;
  readonly rank: string;
  readonly count: number;
  readonly sinceMs: number;
  readonly broadcasts: readonly number[];
  readonly acknowledgedAtMs: number | undefined;
}

/** What is wrong now. */
export function standingAlarms(world: World): readonly ExpectedAlarm[] {
  const { nowMs, stories, people, senders } = world;
  const found: Omit<ExpectedAlarm, 'acknowledgedAtMs'>[] = [];
  const kept = stories.filter(({ endedAtMs = Infinity }) => endedAtMs >= nowMs - dayMs);
  const origins = [...new Set(people.map(({ origin }) => origin))];
  for (const origin of origins) {
    const service = nameOf(origin);
    for (const { reason } of Object.values(saidBy)) {
      const met = kept.flatMap((story) =>
        alarmsOf(story)
          .filter((each) => each.origin === origin && each.reason === reason)
          .map((each) => ({ ...each, id: story.id })),
      );
      if (met.length > 0)
        found.push({
          id: `${reason}:${service}`,
          rank: reason === 'vapid-refused' ? 'urgent' : 'note',
          count: Math.max(...met.map(({ rows }) => rows)),
          sinceMs: Math.min(...met.map(({ firstAtMs }) => firstAtMs)),
          broadcasts: met.map(({ id }) => id),
        });
    }
    const held = people.flatMap((each) =>
      each.isStored && each.origin === origin ? (each.heldSinceMs ?? []) : [],
    );
    if (held.length > 0)
      found.push({
        id: `deletions-held:${service}`,
        rank: 'soon',
        count: held.length,
        sinceMs: Math.min(...held),
        broadcasts: kept.filter(({ name }) => name === 'that calls Windows gone').map(({ id }) => id),
      });
    const unreachable = senders.flatMap(({ machine, seenAtMs, pushServices }) =>
      pushServices.flatMap(({ origin: reported, unreachableMs }) =>
        reported === origin && unreachableMs !== undefined
          ? { machine, sinceMs: seenAtMs - unreachableMs }
          : [],
      ),
    );
    if (unreachable.length > 0)
      found.push({
        id: `unreachable:${service}`,
        rank: 'urgent',
        count: new Set(unreachable.map(({ machine }) => machine)).size,
        sinceMs: Math.min(...unreachable.map(({ sinceMs }) => sinceMs)),
        broadcasts: [],
      });
  }
  found.push(...lateWork(world));
  return found.map((alarm) => ({ ...alarm, acknowledgedAtMs: world.acknowledged.get(alarm.id) }));
}

/** Since when each broadcast could go on: what has begun does so by itself, if there is a worker. */
function dueOf(world: World): readonly { readonly id: number; readonly sinceMs: number }[] {
  const { nowMs, stories, workers } = world;
  return stories.flatMap((story) => {
    if (stateOf(story, world) !== 'running') return [];
    const hasBegun = world.posts.some((post) => post.story === story);
    if (workers.length > 0 && hasBegun) return [];
    const times = story.rows.filter(isPending).flatMap((row) => {
      if (row.cause === 'pushService') return [];
      const atMs = row.cause === 'now' ? story.startAtMs : row.untilMs!;
      return atMs <= nowMs ? [atMs] : [];
    });
    return times.length === 0 ? [] : [{ id: story.id, sinceMs: Math.min(...times) }];
  });
}

const alarm = (
  id: string,
  rank: string,
  of: readonly { readonly sinceMs: number }[],
  broadcasts: readonly number[],
) =>
  of.length === 0
    ? []
    : [{ id, rank, count: of.length, sinceMs: Math.min(...of.map(({ sinceMs }) => sinceMs)), broadcasts }];

/** Since when work is late that nobody has begun. */
export function lateTimes(
  world: World,
): Readonly<
  Record<'broadcasts' | 'schedules', readonly { readonly id: number; readonly sinceMs: number }[]>
> {
  const { nowMs, workers, schedules, posts } = world;
  const lastSentMs = workers.length > 0 ? 0 : Math.max(0, ...posts.map(({ atMs }) => atMs));
  const due = dueOf(world).map(({ id, sinceMs }) => ({ id, sinceMs: Math.max(sinceMs, lastSentMs) }));
  const isLate = ({ sinceMs }: { readonly sinceMs: number }): boolean => sinceMs <= nowMs - 60_000;
  return {
    broadcasts: due.filter(isLate),
    schedules: schedules
      .filter(({ pausedAtMs }) => pausedAtMs === undefined)
      .map(({ id, nextAtMs }) => ({ id, sinceMs: nextAtMs }))
      .filter(isLate),
  };
}

function lateWork(world: World): readonly Omit<ExpectedAlarm, 'acknowledgedAtMs'>[] {
  const { broadcasts: late, schedules: since } = lateTimes(world);
  const ids = late.map(({ id }) => id);
  if (world.workers.length > 0)
    return [...alarm('broadcast-late', 'soon', late, ids), ...alarm('schedule-late', 'urgent', since, [])];
  const [found] = alarm('no-worker', 'urgent', [...late, ...since], ids);
  return found === undefined ? [] : [{ ...found, count: late.length > 0 ? late.length : since.length }];
}
