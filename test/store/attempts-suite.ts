// What every store must answer about what came of each row of a broadcast.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AttemptRecord, RowState } from '../../src/store/attempts.ts';
import { maxWordsPerBroadcast } from '../../src/store/attempt-sets.ts';
import type { NewBroadcast, Recipient, Settlement } from '../../src/store/broadcasts.ts';
import type { RowRecord, RowResult } from '../../src/store/ledger.ts';
import type { Lease } from '../../src/store/leases.ts';
import { madeUpSubscription } from './made-up-subscription.ts';
import {
  addSubscriptions,
  commitSlice,
  madeUpBroadcast,
  openForEachTest,
  openIds,
  type StoreUnderTest,
} from './store-under-test.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;

export function describeAttempts(name: string, prepare: () => Promise<StoreUnderTest>): void {
  describe(`attempts: ${name}`, () => {
    let nowMs = 1_800_000_000_000;
    const store = openForEachTest(prepare, () => nowMs);

    const createBroadcast = async (changes: Partial<NewBroadcast> = {}): Promise<number> =>
      (await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 1000, ...changes }))).broadcast.id;

    /** Every slice of the broadcast in one page each. @returns the leases */
    const settleAll = async (
      broadcastId: number,
      toResult: (recipient: Recipient) => RowResult,
    ): Promise<readonly Lease[]> => {
      const leases: Lease[] = [];
      for (;;) {
        const slice = await store.leases.leaseSlice({ leaseMs, broadcastId });
        if (slice === undefined) return leases;
        leases.push(slice);
        await commitSlice(store, slice, toResult, leaseMs);
      }
    };
    const settleRetries = async (broadcastId: number, toResult: (row: Recipient) => RowResult) => {
      const retries = await store.leases.leaseRetries({ leaseMs, broadcastId, limit: 10_000 });
      assert.ok(retries);
      const { fenceToken, rows } = retries;
      await store.ledger.commit({ broadcastId, fenceToken, rows: rows.map(toResult), leaseMs });
    };
    const stateOf = async (broadcastId: number, id: number) =>
      (await store.attempts.outcomesOf(broadcastId, [id]))[0]!;

    const result = (
      recipient: Recipient,
      outcome: Settlement,
      record: Partial<RowRecord> = {},
    ): RowResult => ({
      recipient,
      origin,
      attempts: 1,
      result: outcome,
      record: { atMs: nowMs - 20, attempt: 1, ...record },
    });
    const accepted = (recipient: Recipient): RowResult => result(recipient, 'accepted', { status: 201 });
    const retried = (recipient: Recipient, changes: Partial<RowRecord> = {}): RowResult => ({
      ...result(recipient, 'accepted', { status: 503, reason: 'server-error', ...changes }),
      result: 'retry',
      retry: { delayMs: 1000, attempts: changes.attempt ?? 1, deferrals: 0, expiresAtMs: nowMs + 3_000_000 },
    });

    test('a broadcast and a subscription list their attempts, the newest first, page by page', async () => {
      await addSubscriptions(store, 3);
      const first = await createBroadcast();
      await settleAll(first, accepted);
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
      assert.deepEqual(await store.attempts.list({ subscriptionId, outcome: 'rejected', limit: 10 }), [
        newer,
      ]);
      assert.deepEqual(await store.attempts.list({ broadcastId: first, subscriptionId, limit: 10 }), [older]);
      assert.equal((await store.attempts.list({ broadcastId: first, limit: 10 })).length, 3);
    });

    test('pages of a broadcast’s attempts have each one once, by outcome and all together', async () => {
      await addSubscriptions(store, 500);
      const broadcastId = await createBroadcast({ sliceRows: 7 });
      const outcomes = ['accepted', 'gone', 'rejected', 'expired', 'exhausted', 'capped'] as const;
      const given = new Map<number, Settlement>();
      await settleAll(broadcastId, (row) => {
        const outcome = outcomes[row.subscriptionId! % outcomes.length]!;
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
        all.map(({ id }) => id),
        all.map(({ id }) => id).toSorted((one, other) => other - one),
      );
      assert.deepEqual(new Map(all.map(({ subscriptionId, outcome }) => [subscriptionId, outcome])), given);
      assert.equal(all.length, given.size);
      for (const { subscriptionId, status } of all) assert.equal(status, 400 + (subscriptionId % 5));
      for (const outcome of outcomes) {
        const some = await readAll(outcome);
        assert.deepEqual(
          some,
          all.filter((attempt) => attempt.outcome === outcome),
        );
      }
    });

    test('answers other than acceptances are counted exactly, also of rows that are not stored', async () => {
      await addSubscriptions(store, 100);
      const audienceId = await store.broadcasts.openAudience();
      await store.broadcasts.addToAudience(audienceId, [...Array(100).keys(), 500].map(madeUpSubscription));
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
      assert.deepEqual(await stateOf(id, subscriptionId), { subscriptionId, state: 'pending', attempts: [] });

      await settleAll(id, retried);
      const { wait, ...waiting } = await stateOf(id, subscriptionId);
      assert.deepEqual([waiting.state, waiting.attempts[0]?.status], ['waiting', 503]);
      const expiresAtMs = nowMs + 3_000_000;
      assert.deepEqual(wait, { for: 'retry', untilMs: nowMs + 1000, expiresAtMs, attempts: 1 });

      nowMs += 1000;
      const leased = await store.leases.leaseRetries({ leaseMs, broadcastId: id, limit: 10 });
      assert.equal((await stateOf(id, subscriptionId)).state, 'inFlight');
      assert.ok(leased);
      await store.leases.release(leased);
      nowMs += 1;
      await settleRetries(id, (recipient) => retried(recipient, { attempt: 2 }));
      nowMs += 1000;
      await settleRetries(id, (recipient) => result(recipient, 'accepted', { status: 201, attempt: 3 }));
      const settled = await stateOf(id, subscriptionId);
      assert.equal(settled.state, 'accepted');
      assert.deepEqual(
        settled.attempts.map(({ attempt, outcome, status }) => [attempt, outcome, status]),
        [
          [3, 'accepted', 201],
          [2, 'retry', 503],
          [1, 'retry', 503],
        ],
      );
    });

    test('a row waits for its turn where nothing was sent yet, and for a push service that refuses us', async () => {
      await addSubscriptions(store, 2);
      const id = await createBroadcast();
      const vapidPublicKey = 'K';
      const refusals = { origin, vapidPublicKey, accepted: 0, hasRefused: true, refusalsInRow: 100 };
      const retry = { delayMs: 500, attempts: 0, deferrals: 1, expiresAtMs: nowMs + 60_000 };
      const slice = await store.leases.leaseSlice({ leaseMs, broadcastId: id });
      assert.ok(slice);
      const { fenceToken, slice: number, cursor: fromCursor, throughPosition: cursor } = slice;
      const [deferred, suspended] = await store.ledger.readRows(slice, fromCursor, 10);
      await store.ledger.commit({
        broadcastId: id,
        fenceToken,
        slice: { number, fromCursor, cursor },
        rows: [
          { recipient: deferred!, origin, attempts: 0, result: 'retry', retry },
          {
            recipient: suspended!,
            origin,
            attempts: 0,
            result: 'heldBack',
            retry: { ...retry, delayMs: 0 },
            suspension: { vapidPublicKey, drawOrder: 1 },
          },
        ],
        answers: [refusals],
        leaseMs,
      });
      const states = await store.attempts.outcomesOf(id, [
        deferred!.subscriptionId!,
        suspended!.subscriptionId!,
      ]);
      const { expiresAtMs } = retry;
      assert.deepEqual(
        states.map(({ state, wait }) => [state, wait]),
        [
          ['waiting', { for: 'turn', untilMs: nowMs + 500, expiresAtMs, attempts: 0 }],
          ['waiting', { for: 'pushService', expiresAtMs, attempts: 0 }],
        ],
      );
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

    test('what retention has dropped is no longer kept, and its counts are', async () => {
      await addSubscriptions(store, 3);
      const id = await createBroadcast();
      const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
      await settleAll(id, (recipient) => result(recipient, 'rejected', { status: 400 }));
      assert.equal((await stateOf(id, row!.id)).state, 'rejected');
      nowMs += 1000;
      while (await store.retention.prune({ attemptsBeforeMs: nowMs }));
      assert.deepEqual((await stateOf(id, row!.id)).state, 'noLongerKept');
      assert.deepEqual(await store.attempts.list({ broadcastId: id, limit: 10 }), []);
      assert.equal((await store.attempts.countAnswers([id]))[0]?.rows, 3);
    });
  });
}
