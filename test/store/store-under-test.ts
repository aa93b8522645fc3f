// The store that a suite tests, and what suites do with it before they ask anything.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach } from 'node:test';
import type { Broadcast, LookedUpAudience, NewBroadcast, Recipient } from '../../src/store/broadcasts.ts';
import type {
  AnswerCommit,
  CommitAnswer,
  PageOfSlice,
  RowResult,
  StoredRetry,
} from '../../src/store/ledger.ts';
import type { NewSchedule } from '../../src/store/schedules.ts';
import type { Store } from '../../src/store/store.ts';
import { GatheredAnswers, type SingleAnswer } from '../../src/delivery/single/answer-log.ts';
import type { Subscription } from '../../src/protocol/subscription.ts';
import type { NewSubscription, SubscriptionLimit } from '../../src/store/subscriptions.ts';
import type { Lease, SliceLease } from '../../src/store/leases.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { type OpenedStore, openTestStore } from './test-database.ts';

/** A store, and what runs statements on its tables behind its back. */
type StoreUnderTest = Store & Pick<OpenedStore, 'run'>;

/** One store for all tests of the suite; its members are there when the first one runs. */
export const openForSuite = (now: () => number, limit?: SubscriptionLimit): Store =>
  openBetween(before, after, now, limit);

/** A store for each test of the suite. */
export const openForEachTest = (now: () => number, limit?: SubscriptionLimit): StoreUnderTest =>
  openBetween(beforeEach, afterEach, now, limit);

function openBetween(
  first: typeof before,
  last: typeof after,
  now: () => number,
  limit?: SubscriptionLimit,
): StoreUnderTest {
  const store = {} as StoreUnderTest;
  let opened: OpenedStore;
  first(async () => {
    opened = await openTestStore(now, limit);
    Object.assign(store, opened.store, { run: opened.run });
  });
  last(() => opened.remove());
  return store;
}

/** Stores `count` subscriptions in one transaction. @param factsOf what is stored of each besides, by its index from 0 */
export async function addSubscriptions(
  { subscriptions }: Pick<Store, 'subscriptions'>,
  count: number,
  first = 0,
  factsOf: (index: number) => Partial<NewSubscription> = () => ({}),
): Promise<void> {
  await subscriptions.putAll(
    Array.from({ length: count }, (_, index) => ({
      subscription: madeUpSubscription(first + index),
      vapidPublicKey,
      ...factsOf(index),
    })),
  );
}

export async function removeSubscriptions({ subscriptions }: Store): Promise<void> {
  const rows = await subscriptions.page({ afterId: 0, limit: 10_000 });
  await Promise.all(rows.map(({ id }) => subscriptions.removeById(id)));
}

/** A broadcast that may be delivered for an hour. */
export const madeUpBroadcast = (startAtMs: number, changes: Partial<NewBroadcast> = {}): NewBroadcast => ({
  contentHash: new Uint8Array(32).fill(7),
  payload: new TextEncoder().encode('{"title":"Hello","message":"World"}'),
  ttlSeconds: 3600,
  urgency: 'normal',
  startAtMs,
  expiresAtMs: startAtMs + 3_600_000,
  sliceRows: 10,
  ...changes,
});

/** A list of recipients. @param members a number stands for the made-up subscription with this number */
export async function openList(
  { broadcasts }: Store,
  members: readonly (number | Subscription)[],
): Promise<number> {
  const audienceId = await broadcasts.openAudience();
  const given = members.map((member) => (typeof member === 'number' ? madeUpSubscription(member) : member));
  await broadcasts.addToAudience(audienceId, given);
  return audienceId;
}

/** A list of recipients with ids of stored subscriptions. */
export async function openIds(
  { broadcasts }: Store,
  ids: readonly number[],
  { sliceRows } = madeUpBroadcast(0),
): Promise<number> {
  const audienceId = await broadcasts.openAudience();
  await broadcasts.addIds(audienceId, ids, sliceRows);
  return audienceId;
}

/** A broadcast to an expression, with its audience. */
export async function createMatching(
  { broadcasts }: Store,
  matching: LookedUpAudience,
  draft: NewBroadcast,
): Promise<Broadcast> {
  const audienceId = await broadcasts.openAudience();
  const { broadcast } = await broadcasts.create({ ...draft, audienceId, matching });
  while (await broadcasts.prepare(broadcast.id, 'test'));
  return broadcasts.get(broadcast.id);
}

/** A schedule whose first occurrence is in 2027. */
export const madeUpSchedule = (changes: Partial<NewSchedule> = {}): NewSchedule => ({
  cron: '0 9 * * 1',
  timezone: 'Europe/Berlin',
  audience: 'all',
  message: { title: 'Hello', message: 'World' },
  receipts: false,
  nextAtMs: Date.UTC(2027, 0, 4, 8),
  ...changes,
});

/** @returns the same result of each row, of one attempt unless the changes say otherwise */
export const withResult =
  (origin: string, result: RowResult['result'], changes: Partial<RowResult> = {}) =>
  (recipient: Recipient): RowResult => ({ recipient, origin, attempts: 1, result, ...changes });

/** @returns the result of a row that is tried again, at once and for an hour unless the changes say otherwise */
export const withRetry = (origin: string, nowMs: number, retry: Partial<StoredRetry> = {}) =>
  withResult(origin, 'retry', {
    retry: { attempts: 1, deferrals: 0, delayMs: 0, expiresAtMs: nowMs + 3_600_000, ...retry },
  });

const defaultLeaseMs = 10_000;

/** Commits the whole rest of a leased slice in one page. */
export async function commitSlice(
  store: Store,
  slice: SliceLease,
  toResult: (recipient: Recipient) => RowResult,
  leaseMs = defaultLeaseMs,
): Promise<CommitAnswer> {
  const rows = await store.ledger.readRows(slice, slice.cursor, 100_000);
  const members = slice.members?.ids.filter((id) => id > slice.cursor);
  const missing = members && members.length - rows.length;
  return commitPage(store, slice, rows.map(toResult), { missing }, leaseMs);
}

/** Commits a page of a leased slice: the whole rest of it, unless the page says otherwise. */
export function commitPage(
  { ledger }: Store,
  { broadcastId, fenceToken, slice: number, cursor: fromCursor, throughPosition: cursor }: SliceLease,
  rows: readonly RowResult[],
  page: Partial<PageOfSlice> = {},
  leaseMs = defaultLeaseMs,
): Promise<CommitAnswer> {
  const slice = { number, fromCursor, cursor, ...page };
  return ledger.commit({ broadcastId, fenceToken, slice, rows, leaseMs });
}

/** Commits rows that were leased as retries, or whose answers came after the page of their slice. */
export const commitRows = (
  { ledger }: Store,
  { broadcastId, fenceToken }: Lease,
  rows: readonly RowResult[],
): Promise<CommitAnswer> => ledger.commit({ broadcastId, fenceToken, rows, leaseMs: defaultLeaseMs });

/** Leases the next slice that is free. @param broadcastId of this broadcast only */
export async function leaseNext(store: Store, broadcastId?: number): Promise<SliceLease> {
  const slice = await store.leases.leaseSlice({ leaseMs: defaultLeaseMs, broadcastId });
  assert.ok(slice, 'a slice is free');
  return slice;
}

/** Leases the next slice that is free, and commits it in one page. */
export const commitNext = async (
  store: Store,
  toResult: (recipient: Recipient) => RowResult,
  broadcastId?: number,
): Promise<CommitAnswer> => commitSlice(store, await leaseNext(store, broadcastId), toResult);

export async function leaseSlices(
  { leases }: Store,
  broadcastId?: number,
  leaseMs = defaultLeaseMs,
): Promise<readonly SliceLease[]> {
  const slices: SliceLease[] = [];
  for (let slice; (slice = await leases.leaseSlice({ leaseMs, broadcastId }));) slices.push(slice);
  return slices;
}

/** Leases all slices that are free, and commits each in one page. */
export async function commitSlices(
  store: Store,
  broadcastId: number | undefined,
  toResult: (recipient: Recipient) => RowResult,
): Promise<void> {
  for (const slice of await leaseSlices(store, broadcastId)) await commitSlice(store, slice, toResult);
}

/** Has every row accepted that is free. @returns the recipients */
export async function acceptAll(
  store: Store,
  origin: string,
  broadcastId?: number,
): Promise<readonly Recipient[]> {
  const accept = withResult(origin, 'accepted');
  const reached: Recipient[] = [];
  await commitSlices(store, broadcastId, (recipient) => {
    reached.push(recipient);
    return accept(recipient);
  });
  return reached;
}

/** Answers to single messages of one push service, as a sender commits them. */
export function answerCommit(
  origin: string,
  answers: readonly (readonly [Subscription, SingleAnswer])[],
): AnswerCommit {
  const gathered = new GatheredAnswers();
  for (const [subscription, answer] of answers) gathered.add(origin, answer, subscription);
  const refused = answers.filter(([, answer]) => answer === 'refused').length;
  const accepted = answers.filter(([, answer]) => answer === 'accepted').length;
  return {
    id: randomUUID(),
    origins: gathered.origins(),
    answers: [{ origin, vapidPublicKey, accepted, hasRefused: refused > 0, refusalsInRow: refused }],
  };
}

/** Records one answer to a single message. */
export async function recordAnswer(
  { ledger }: Store,
  subscription: Subscription,
  answer: SingleAnswer,
  origin: string,
): Promise<void> {
  await ledger.recordAnswers(answerCommit(origin, [[subscription, answer]]));
}
