// What every store must answer about what came of each row of a broadcast.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { AttemptRecord, RowOutcome, RowOutcomes, RowState } from '../../src/store/attempts.ts';
import { maxWordsPerBroadcast } from '../../src/store/attempt-sets.ts';
import {
  type NewBroadcast,
  type OutcomeGroup,
  type Recipient,
  type Settlement,
  settlements,
} from '../../src/store/broadcasts.ts';
import type { RowRecord, RowResult } from '../../src/store/ledger.ts';
import { receiptWindowMs } from '../../src/store/receipts.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  acceptAll,
  addSubscriptions,
  answerCommit,
  commitRows,
  commitSlice,
  commitSlices,
  createMatching,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  openIds,
  openList,
  withResult,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';
import { refuses } from '../../tools/refuses.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;
const refused = (message: RegExp) => ({ code: 'ERR_FIELD_VALUE', message });
const isSampled = (_: unknown, index: number): boolean => index % 100 === 0;

describe(`attempts: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

  const createBroadcast = async (changes: Partial<NewBroadcast> = {}): Promise<number> =>
    (await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 1000, ...changes }))).broadcast.id;

  const settleAll = (broadcastId: number, toResult: (recipient: Recipient) => RowResult) =>
    commitSlices(store, broadcastId, toResult);
  const settleRetries = async (broadcastId: number, toResult: (row: Recipient) => RowResult) => {
    const retries = await store.leases.leaseRetries({ leaseMs, broadcastId, limit: 10_000 });
    await commitRows(store, retries!, retries!.rows.map(toResult));
  };
  const stateOf = async (broadcastId: number, id: number) =>
    (await store.attempts.outcomesOf(broadcastId, [id]))[0]!;

  const result = (recipient: Recipient, outcome: Settlement, record: Partial<RowRecord> = {}): RowResult =>
    withResult(origin, outcome, { record: { atMs: nowMs - 20, attempt: 1, ...record } })(recipient);
  const accepted = (recipient: Recipient): RowResult => result(recipient, 'accepted', { status: 201 });
  const retried = (recipient: Recipient, changes: Partial<RowRecord> = {}): RowResult => ({
    ...result(recipient, 'accepted', { status: 503, reason: 'server-error', ...changes }),
    result: 'retry',
    retry: { delayMs: 1000, attempts: changes.attempt ?? 1, deferrals: 0, expiresAtMs: nowMs + 3_000_000 },
  });

  test('a broadcast and a subscription list their attempts, the newest first, page by page', async () => {
    await addSubscriptions(store, 3);
    const first = await createBroadcast();
    // of what is stored together, the first was made so long before
    const sentMs = [5, 20, 10];
    await settleAll(first, (row) => result(row, 'accepted', { status: 201, atMs: nowMs - sentMs.shift()! }));
    nowMs += 1000;
    const second = await createBroadcast();
    await settleAll(second, (row) =>
      result(row, 'rejected', { status: 400, reason: 'bad-ttl', detail: 'TTL' }),
    );
    const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    const subscriptionId = row!.id;
    const attempts = await store.attempts.list({ subscriptionId, limit: 10 });
    const common = { subscriptionId, origin, attempt: 1 };
    assert.deepEqual(attempts, [
      {
        ...common,
        id: attempts[0]?.id,
        broadcastId: second,
        atMs: nowMs,
        sinceMs: nowMs - 20,
        outcome: 'rejected',
        status: 400,
        reason: 'bad-ttl',
        detail: 'TTL',
      },
      {
        ...common,
        id: attempts[1]?.id,
        broadcastId: first,
        atMs: nowMs - 1000,
        sinceMs: nowMs - 1020,
        outcome: 'accepted',
        status: 201,
        reason: undefined,
        detail: undefined,
      },
    ]);
    const [newer, older] = attempts;
    const before = { beforeId: newer!.id, limit: 10 };
    assert.deepEqual(await store.attempts.list({ subscriptionId, ...before }), [older]);
    assert.deepEqual(await store.attempts.list({ subscriptionId, outcome: 'rejected', limit: 10 }), [newer]);
    const ofFirst = { broadcastId: first, subscriptionId, limit: 10 };
    assert.deepEqual(await store.attempts.list(ofFirst), [older]);
    assert.deepEqual(await store.attempts.list({ ...ofFirst, outcome: 'rejected' }), []);
    assert.deepEqual(await store.attempts.list({ ...ofFirst, beforeId: older!.id }), []);
    assert.equal((await store.attempts.list({ broadcastId: first, limit: 10 })).length, 3);
  });

  test('pages of a subscription’s attempts end, though retention drops those where a page begins', async () => {
    await addSubscriptions(store, 1);
    const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    for (let broadcast = 0; broadcast < 3; broadcast += 1) {
      nowMs += 1000;
      await settleAll(await createBroadcast(), accepted);
    }
    const list = (beforeId?: number) => store.attempts.list({ subscriptionId: row!.id, beforeId, limit: 2 });
    const [newest, older] = await list();
    while (await store.retention.prune({ attemptsBeforeMs: nowMs }));
    assert.deepEqual(await list(), [newest]);
    assert.deepEqual(await list(older!.id), []);
  });

  test('an attempt by a clock that was ahead of the store is not later than it was stored', async () => {
    await addSubscriptions(store, 1);
    const broadcastId = await createBroadcast();
    await settleAll(broadcastId, (row) => result(row, 'accepted', { status: 201, atMs: nowMs + 30 }));
    const [attempt] = await store.attempts.list({ broadcastId, limit: 1 });
    assert.deepEqual([attempt?.sinceMs, attempt?.atMs], [nowMs, nowMs]);
  });

  test('words that PostgreSQL refuses do not keep a page from being committed', async () => {
    await addSubscriptions(store, 1);
    const broadcastId = await createBroadcast();
    const detail = 'no \ud83d \\ud83d way';
    await settleAll(broadcastId, (row) => ({
      ...result(row, 'rejected', { status: 400, reason: 'bad-request', detail }),
      alarm: { reason: 'bad-request', detail: `${detail} \0` },
    }));
    const [attempt] = await store.attempts.list({ broadcastId, limit: 1 });
    assert.equal(attempt?.detail, 'no \ufffd \\ud83d way');
    assert.equal((await store.broadcasts.get(broadcastId)).state, 'done');
  });

  test('pages of a broadcast’s attempts have each one once, by outcome and all together', async () => {
    await addSubscriptions(store, 500);
    const broadcastId = await createBroadcast({ sliceRows: 7 });
    const given = new Map<number, Settlement>();
    await settleAll(broadcastId, (row) => {
      const outcome = settlements[row.subscriptionId! % settlements.length]!;
      given.set(row.subscriptionId!, outcome);
      return result(row, outcome, { status: 400 + (row.subscriptionId! % 5) });
    });
    const readAll = async (outcome?: Settlement): Promise<AttemptRecord[]> => {
      const all: AttemptRecord[] = [];
      for (;;) {
        const beforeId = all.at(-1)?.id;
        const page = await store.attempts.list({ broadcastId, outcome, beforeId, limit: 13 });
        if (page.length === 0) return all;
        all.push(...page);
      }
    };
    const all = await readAll();
    assert.deepEqual(
      pluck(all, 'id'),
      all.map(({ id }) => id).toSorted((one, other) => other - one),
    );
    assert.deepEqual(new Map(all.map(({ subscriptionId, outcome }) => [subscriptionId, outcome])), given);
    assert.equal(all.length, given.size);
    for (const { subscriptionId, status } of all) assert.equal(status, 400 + (subscriptionId % 5));
    for (const outcome of settlements) {
      const some = await readAll(outcome);
      assert.deepEqual(
        some,
        all.filter((attempt) => attempt.outcome === outcome),
      );
    }
  });

  test('answers other than acceptances are counted exactly, also of rows that are not stored', async () => {
    await addSubscriptions(store, 100);
    const audienceId = await openList(store, [...Array(100).keys(), 500]);
    const broadcastId = await createBroadcast({ audienceId });
    await settleAll(broadcastId, (row) =>
      row.position % 4 === 0
        ? accepted(row)
        : result(row, 'rejected', { status: 400, reason: 'bad-ttl', detail: 'TTL' }),
    );
    assert.deepEqual(await store.attempts.countAnswers([broadcastId]), [
      {
        broadcastId,
        origin,
        outcome: 'rejected',
        status: 400,
        reason: 'bad-ttl',
        detail: 'TTL',
        rows: 76,
        lastAtMs: nowMs,
      },
    ]);
    assert.deepEqual(await store.attempts.countAnswers([]), []);
    nowMs += 1000;
    const second = await createBroadcast();
    await settleAll(second, (row) => result(row, 'rejected', { status: 400, reason: 'bad-ttl' }));
    const both = await store.attempts.countAnswers([broadcastId, second]);
    assert.deepEqual(pluck(both, 'broadcastId', 'detail', 'rows', 'lastAtMs'), [
      [second, undefined, 100, nowMs],
      [broadcastId, 'TTL', 76, nowMs - 1000],
    ]);
  });

  test('so many different words of push services are stored for a broadcast, and no more', async () => {
    await addSubscriptions(store, 2 * maxWordsPerBroadcast);
    const broadcastId = await createBroadcast({ sliceRows: 100 });
    await settleAll(broadcastId, (row) =>
      result(row, 'rejected', { status: 400, reason: 'bad-ttl', detail: `word ${row.position}` }),
    );
    const answers = await store.attempts.countAnswers([broadcastId]);
    assert.equal(answers.length, maxWordsPerBroadcast + 1);
    const [without] = answers;
    assert.deepEqual(
      [without?.detail, without?.reason, without?.rows],
      [undefined, 'bad-ttl', maxWordsPerBroadcast],
    );
  });

  test('a row is pending, waits, is in flight, and settled; its attempts tell its history', async () => {
    await addSubscriptions(store, 1);
    const id = await createBroadcast();
    const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    const subscriptionId = row!.id;
    assert.deepEqual(await stateOf(id, subscriptionId), {
      broadcastId: id,
      subscriptionId,
      state: 'pending',
      origin,
      attempts: [],
    });

    await settleAll(id, retried);
    const { wait, ...waiting } = await stateOf(id, subscriptionId);
    assert.deepEqual([waiting.state, waiting.attempts[0]?.status], ['waiting', 503]);
    const expiresAtMs = nowMs + 3_000_000;
    assert.deepEqual(wait, { for: 'retry', untilMs: nowMs + 1000, expiresAtMs, attempts: 1 });
    await store.broadcasts.pause(id);
    assert.equal((await stateOf(id, subscriptionId)).state, 'waiting');
    await store.broadcasts.resume(id);

    nowMs += 1000;
    const leased = await store.leases.leaseRetries({ leaseMs, broadcastId: id, limit: 10 });
    assert.equal((await stateOf(id, subscriptionId)).state, 'inFlight');
    nowMs += leaseMs;
    assert.equal((await stateOf(id, subscriptionId)).state, 'waiting', 'its worker has died');
    nowMs -= leaseMs;
    assert.ok(leased);
    await store.leases.release(leased);
    nowMs += 1;
    await settleRetries(id, (recipient) => retried(recipient, { attempt: 2 }));
    nowMs += 1000;
    await settleRetries(id, (recipient) => result(recipient, 'accepted', { status: 201, attempt: 3 }));
    const settled = await stateOf(id, subscriptionId);
    assert.equal(settled.state, 'accepted');
    assert.deepEqual(pluck(settled.attempts, 'attempt', 'outcome', 'status'), [
      [3, 'accepted', 201],
      [2, 'retry', 503],
      [1, 'retry', 503],
    ]);
    const cancelled = await createBroadcast();
    await settleAll(cancelled, retried);
    await store.broadcasts.cancel(cancelled);
    const { state, attempts } = await stateOf(cancelled, subscriptionId);
    assert.deepEqual([state, attempts.length], ['cancelled', 1], 'also where it was tried before');
  });

  test('the attempts to a row are the newest first, however many commits were made between them', async () => {
    await addSubscriptions(store, 52);
    const broadcastId = await createBroadcast();
    await settleAll(broadcastId, (row) => retried(row));
    nowMs += 1000;
    const lease = (await store.leases.leaseRetries({ leaseMs, broadcastId, limit: 100 }))!;
    for (const row of lease.rows) await commitRows(store, lease, [retried(row, { attempt: 2 })]);
    const { outcomes } = await store.attempts.outcomesAfter(broadcastId, { afterId: 0, ids: 100 });
    assert.deepEqual(
      outcomes.map(({ attempts }) => attempts.map(({ attempt }) => attempt)),
      Array.from({ length: 52 }, () => [2, 1]),
    );
  });

  test('a row waits for its turn where nothing was sent yet, and for a push service that refuses us', async () => {
    await addSubscriptions(store, 2);
    const id = await createBroadcast();
    const refusals = { origin, vapidPublicKey, accepted: 0, hasRefused: true, refusalsInRow: 100 };
    const retry = { delayMs: 500, attempts: 0, deferrals: 1, expiresAtMs: nowMs + 60_000 };
    const slice = await leaseNext(store, id);
    await store.ledger.recordAnswers({ id: randomUUID(), origins: [], answers: [refusals] });
    const ids: number[] = [];
    const suspension = { vapidPublicKey, drawOrder: 1 };
    await commitSlice(store, slice, (recipient) => {
      const isFirst = ids.push(recipient.subscriptionId!) === 1;
      if (isFirst) return { recipient, origin, attempts: 0, result: 'retry', retry };
      return { recipient, origin, attempts: 0, result: 'heldBack', retry, suspension };
    });
    const states = await store.attempts.outcomesOf(id, ids);
    const { expiresAtMs } = retry;
    assert.deepEqual(pluck(states, 'state', 'wait'), [
      ['waiting', { for: 'turn', untilMs: nowMs + 500, expiresAtMs, attempts: 0 }],
      ['waiting', { for: 'pushService', expiresAtMs, attempts: 0 }],
    ]);
  });

  test('who is not in the audience, was removed or is left out by a cancellation is told apart', async () => {
    await addSubscriptions(store, 4);
    const ids = (await store.subscriptions.page({ afterId: 0, limit: 4 })).map(({ id }) => id);
    const audienceId = await openIds(store, ids.slice(0, 3));
    const toList = await createBroadcast({ audienceId });
    const toAll = await createBroadcast();
    nowMs += 1;
    await addSubscriptions(store, 1, 10);
    const later = (await store.subscriptions.page({ afterId: ids[3]!, limit: 1 }))[0]!.id;
    await store.subscriptions.removeById(ids[0]!);
    const states = async (id: number): Promise<RowState[]> =>
      (await store.attempts.outcomesOf(id, [...ids, later])).map(({ state }) => state);
    assert.deepEqual(await states(toList), [
      'removed',
      'pending',
      'pending',
      'notInAudience',
      'notInAudience',
    ]);
    assert.deepEqual(await states(toAll), ['removed', 'pending', 'pending', 'pending', 'notInAudience']);
    await settleAll(toList, accepted);
    await store.broadcasts.cancel(toAll);
    assert.deepEqual(await states(toList), [
      'removed',
      'accepted',
      'accepted',
      'notInAudience',
      'notInAudience',
    ]);
    assert.deepEqual(await states(toAll), [
      'removed',
      'cancelled',
      'cancelled',
      'cancelled',
      'notInAudience',
    ]);
    await assert.rejects(store.attempts.outcomesOf(99, ids), { code: 'ERR_BROADCAST_NOT_FOUND' });
  });

  test('a list of subscriptions that need not be stored is not tracked, during its broadcast and afterwards', async () => {
    await addSubscriptions(store, 2);
    const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    const id = await createBroadcast({ audienceId: await openList(store, [0, 70]) });
    assert.equal((await stateOf(id, row!.id)).state, 'notTracked');
    await settleAll(id, accepted);
    while (await store.retention.prune({}));
    assert.equal((await stateOf(id, row!.id)).state, 'notTracked');
    assert.deepEqual(await store.attempts.outcomesAfter(id, { afterId: 0, ids: 100 }), {
      outcomes: [],
      next: undefined,
    });
  });

  test('who was imported after a broadcast to all, with an earlier date, was not in its audience', async () => {
    await addSubscriptions(store, 1);
    const id = await createBroadcast();
    await settleAll(id, accepted);
    await store.subscriptions.putAll([
      { subscription: madeUpSubscription(9), vapidPublicKey, createdAtMs: nowMs - 1_000_000 },
    ]);
    const [, later] = await store.subscriptions.page({ afterId: 0, limit: 2 });
    assert.equal((await stateOf(id, later!.id)).state, 'notInAudience');
  });

  test('what browsers have reported is known of a row, as long as it is kept', async () => {
    await addSubscriptions(store, 4);
    const ids = (await store.subscriptions.page({ afterId: 0, limit: 4 })).map((row) => row.id);
    const silent = await createBroadcast();
    const id = await createBroadcast({ receiptActions: [] });
    await settleAll(silent, accepted);
    const early = { broadcastId: id, subscriptionId: ids[3]! };
    await store.receipts.add([{ ...early, event: 'shown' }]);
    await store.subscriptions.removeById(ids[3]!);
    await settleAll(id, accepted);
    const report = { broadcastId: id, subscriptionId: ids[0]! };
    await store.receipts.add([
      { ...report, event: 'shown' },
      { ...report, event: 'clicked' },
      { ...report, event: 'shown', subscriptionId: ids[2]! },
    ]);
    const receipts = async (broadcastId: number) =>
      (await store.attempts.outcomesOf(broadcastId, ids)).map((row) => row.receipts);
    await store.subscriptions.removeById(ids[2]!);
    assert.deepEqual(await receipts(id), [['shown', 'clicked'], [], 'noLongerKept', 'noLongerKept']);
    assert.deepEqual(await receipts(silent), [undefined, undefined, undefined, undefined]);
    nowMs += receiptWindowMs + 1;
    while (await store.receipts.prune());
    assert.deepEqual(
      await receipts(id),
      ids.map(() => 'noLongerKept'),
    );
    nowMs -= receiptWindowMs + 1;
  });

  test('all rows of a broadcast are read in the order of ids, however its audience was chosen', async () => {
    const count = 2500;
    await addSubscriptions(store, count);
    const ids = (await store.subscriptions.page({ afterId: 0, limit: count })).map((row) => row.id);
    const some = ids.filter((_, index) => index % 3 === 0);
    const apart = [ids[0]!, ids[1]! + 2_000_000_000, Number.MAX_SAFE_INTEGER];
    const toApart = await createBroadcast({ audienceId: await openIds(store, apart) });
    const audiences = [
      { broadcastId: await createBroadcast({ sliceRows: 300 }), members: ids },
      { broadcastId: await createBroadcast({ audienceId: await openIds(store, some) }), members: some },
    ];
    const read = async (broadcastId: number): Promise<RowOutcome[]> => {
      const all: RowOutcome[] = [];
      for (let afterId: number | undefined = 0; afterId !== undefined;) {
        const page: RowOutcomes = await store.attempts.outcomesAfter(broadcastId, { afterId, ids: 700 });
        all.push(...page.outcomes);
        afterId = page.next;
      }
      return all;
    };
    // ids may be far apart: what is between them is passed over
    assert.deepEqual(pluck(await read(toApart), 'subscriptionId', 'state'), [
      [apart[0], 'pending'],
      ...apart.slice(1).map((id) => [id, 'removed']),
    ]);
    for (const { broadcastId, members } of audiences) {
      const expected = new Map<number, RowState>();
      const outcomes = ['accepted', 'rejected', 'retry'] as const;
      await settleAll(broadcastId, (row) => {
        const outcome = outcomes[row.subscriptionId! % 3]!;
        expected.set(row.subscriptionId!, outcome === 'retry' ? 'waiting' : outcome);
        return outcome === 'retry' ? retried(row) : result(row, outcome);
      });
      const before = await read(broadcastId);
      assert.deepEqual(pluck(before, 'subscriptionId'), members);
      assert.deepEqual(new Map(before.map((row) => [row.subscriptionId, row.state])), expected);
      const sampled = await store.attempts.outcomesOf(broadcastId, members.filter(isSampled));
      assert.deepEqual(before.filter(isSampled), sampled);
    }
    // what was removed is still known where it was attempted, and who came later is not in it
    nowMs += 1;
    await store.subscriptions.removeById(ids[0]!);
    await addSubscriptions(store, 1, 10_000);
    for (const { broadcastId, members } of audiences)
      assert.equal((await read(broadcastId)).length, members.length);
    await refuses(store.attempts.outcomesAfter(99_999, { afterId: 0, ids: 1 }), 'ERR_BROADCAST_NOT_FOUND');
  });

  test('a person’s devices have their broadcasts, the newest first, page by page, without those to others', async () => {
    await addSubscriptions(store, 4);
    const ids = (await store.subscriptions.page({ afterId: 0, limit: 4 })).map((row) => row.id);
    const [first, second, , other] = ids as [number, number, number, number];
    const toBoth = await createBroadcast();
    await settleAll(toBoth, accepted);
    // more than are looked through for one page
    const audienceId = await openIds(store, [other]);
    for (let index = 0; index < 101; index += 1) await createBroadcast({ audienceId });
    const toFirst = await createBroadcast({ audienceId: await openIds(store, [first, other]) });
    await settleAll(toFirst, (row) => result(row, 'gone', { status: 410 }));
    const read = async (limit: number) => {
      const found: (readonly [number, number, RowState])[] = [];
      let pages = 0;
      for (let beforeId: number | undefined = toFirst + 1; beforeId !== undefined; pages += 1) {
        const page: RowOutcomes = await store.attempts.outcomesTo([first, second], { beforeId, limit });
        found.push(...page.outcomes.map((row) => [row.broadcastId, row.subscriptionId, row.state] as const));
        beforeId = page.next;
      }
      return { found, pages };
    };
    const all = [
      [toFirst, first, 'gone'],
      [toBoth, first, 'accepted'],
      [toBoth, second, 'accepted'],
    ];
    assert.deepEqual((await read(50)).found, all);
    assert.deepEqual((await read(1)).found, all);
    assert.equal((await read(1)).pages > 1, true);
    await store.subscriptions.removeById(first);
    assert.deepEqual((await read(50)).found, all);
  });

  test('a deletion that is held is said, until it is decided', async () => {
    await addSubscriptions(store, 40);
    const id = await createBroadcast();
    await settleAll(id, (row) => ({ ...result(row, 'gone', { status: 410 }), result: 'gone' }));
    const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    const held = await stateOf(id, row!.id);
    assert.deepEqual([held.state, held.heldSinceMs], ['gone', nowMs]);
    await store.heldDeletions.discard(origin);
    assert.equal((await stateOf(id, row!.id)).heldSinceMs, undefined);
    const answers = Array.from(
      { length: 80 },
      (_, index) => [madeUpSubscription(index), index < 30 ? 'gone' : 'accepted'] as const,
    );
    await store.ledger.recordAnswers(answerCommit(origin, answers));
    assert.equal((await stateOf(id, row!.id)).heldSinceMs, undefined, 'it is marked, and not decided');
    await store.heldDeletions.discard(origin);
    assert.equal(await store.subscriptions.count(), 40);
  });

  test('a broadcast goes to those with an outcome in an earlier one, who stay known while they are looked up', async () => {
    await addSubscriptions(store, 600);
    const ids = (await store.subscriptions.page({ afterId: 0, limit: 600 })).map((row) => row.id);
    const outcomes = ['accepted', 'rejected', 'doubtful', 'expired', 'accepted'] as const;
    const outcomeOf = (id: number) => outcomes[id % outcomes.length]!;
    const id = await createBroadcast({ receiptActions: [] });
    const silent = await createBroadcast();
    for (const broadcastId of [id, silent])
      await settleAll(broadcastId, (row) => result(row, outcomeOf(row.subscriptionId!)));
    const isAccepted = (each: number) => outcomeOf(each) === 'accepted';
    const clicked = ids.filter((each) => isAccepted(each) && each % 3 === 0);
    await store.receipts.add(
      clicked.map((subscriptionId) => ({ broadcastId: id, subscriptionId, event: 'clicked' as const })),
    );
    await store.subscriptions.removeById(ids[0]!);
    nowMs += 1000;
    await addSubscriptions(store, 3, 10_000);
    const expected: Readonly<Partial<Record<OutcomeGroup, (each: number) => boolean>>> = {
      accepted: isAccepted,
      rejected: (each) => outcomeOf(each) === 'rejected',
      missed: (each) => ['rejected', 'expired'].includes(outcomeOf(each)),
      clicked: (each) => clicked.includes(each),
      notClicked: (each) => isAccepted(each) && !clicked.includes(each),
      shown: () => false,
      channelOff: () => false,
    };
    for (const [outcome, isIn] of Object.entries(expected) as [OutcomeGroup, (each: number) => boolean][]) {
      const audience = { broadcast: id, outcome };
      const { id: later, recipients } = await createMatching(store, audience, madeUpBroadcast(nowMs));
      const reached = (await acceptAll(store, origin, later)).map((row) => row.subscriptionId!);
      const members = ids.slice(1).filter(isIn);
      assert.deepEqual(
        reached.toSorted((one, other) => one - other),
        members,
        outcome,
      );
      assert.equal(recipients, members.length, outcome);
      assert.deepEqual((await store.broadcasts.get(later)).audience, audience);
    }

    const audienceId = await store.broadcasts.openAudience();
    const matching = { broadcast: id, outcome: 'clicked' } as const;
    const slow = await createBroadcast({ audienceId, matching });
    const ask = (broadcast: number, outcome: OutcomeGroup) =>
      store.attempts.idsAfter({ broadcast, outcome }, { afterId: 0, ids: 10 });
    nowMs += receiptWindowMs + 1000;
    await assert.rejects(ask(slow, 'accepted'), refused(/is not complete yet/));
    while (await store.retention.prune({ attemptsBeforeMs: nowMs, broadcastsBeforeMs: nowMs }));
    while (await store.broadcasts.prepare(slow, 'test'));
    assert.equal(
      (await store.broadcasts.get(slow)).recipients,
      clicked.filter((each) => each !== ids[0]).length,
    );
    while (await store.receipts.prune());
    await assert.rejects(ask(id, 'clicked'), refused(/no longer kept: it is for 30 days/));
    while (await store.retention.prune({ attemptsBeforeMs: nowMs }));
    await assert.rejects(ask(id, 'accepted'), refused(/no longer kept for broadcast/));
    await assert.rejects(ask(silent, 'accepted'), refused(/There is no broadcast/));
    const unasked = await createBroadcast();
    await assert.rejects(ask(unasked, 'shown'), refused(/did not ask for receipts/));
    const listed = await openList(store, [1]);
    await assert.rejects(
      ask(await createBroadcast({ audienceId: listed }), 'missed'),
      refused(/is to a list/),
    );
  });
});
