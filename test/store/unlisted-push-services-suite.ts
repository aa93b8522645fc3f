// What every store must do about push services that nobody has listed: count them, and keep to how many there may be.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { dormantKnownForMs, wakeMessages, withUnlisted } from '../../src/store/unlisted-push-services.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  commitRows,
  commitSlice,
  commitSlices,
  leaseSlices,
  madeUpBroadcast,
  openForEachTest,
  recordAnswer,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const max = 3;
const firstAtMs = Date.UTC(2027, 0, 4);
const originOfRow = ({ endpoint }: Recipient): string => new URL(endpoint).origin;
const originOf = (number: number): string => `https://up${number}.example.net`;

describe(`push services that nobody has listed: ${databaseName()}`, () => {
  let nowMs = firstAtMs;
  const store = openForEachTest(() => nowMs);
  beforeEach(() => {
    nowMs = firstAtMs;
  });

  let made = 0;
  const register = async (number: number, mayReplace = false): Promise<number> => {
    made += 1;
    const subscription = { ...madeUpSubscription(made), endpoint: `${originOf(number)}/topic${made}?up=1` };
    const put = () => store.subscriptions.put(subscription, vapidPublicKey);
    return (await withUnlisted(store, originOf(number), max, put, mayReplace)).id;
  };
  /** Each later than the one before. */
  const registerAll = async (...numbers: readonly number[]): Promise<void> => {
    for (const number of numbers) {
      await register(number, true);
      nowMs += 1000;
    }
  };
  const answer = (number: number, what: 'accepted' | 'refused') =>
    recordAnswer(store, madeUpSubscription(number), what, originOf(number));
  const states = async (...numbers: readonly number[]) => {
    const origins = numbers.map(originOf);
    return { places: await store.unlisted.list(), dormant: await store.unlisted.dormantAmong(origins) };
  };
  const full = {
    code: 'ERR_PUSH_SERVICE_LIMIT',
    message: /^up9\.example\.net would be one push service too many/,
  };

  test('are as many as there may be, even where all come at once', async () => {
    const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((number) => register(number)));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, max);
    assert.equal((await store.unlisted.list()).length, max);
    assert.equal(await store.subscriptions.count(), max);
  });

  test('take any number of subscriptions each', async () => {
    for (const number of [1, 2, 3, 3, 2, 1]) await register(number);
    await assert.rejects(register(9), full);
    assert.equal(await store.subscriptions.count(), 6);
  });

  test('make way for another one when their last subscription has left', async () => {
    const ids = [await register(1), await register(2), await register(3)];
    await register(2);
    await store.subscriptions.removeById(ids[1]!);
    nowMs += 61_000;
    await assert.rejects(register(9), full);
    await store.subscriptions.removeById(ids[0]!);
    await register(9);
    assert.deepEqual(await store.unlisted.list(), [2, 3, 9].map(originOf));
  });

  test('lose their places to others, the longest known first, unless they have accepted a message', async () => {
    await registerAll(1, 2, 3);
    await answer(1, 'accepted');
    await answer(2, 'refused');
    assert.equal(await store.unlisted.countProven(), 1, 'one that refused a message has accepted none');
    await registerAll(9);
    assert.deepEqual(await states(1, 2, 3, 9), { places: [1, 3, 9].map(originOf), dormant: [originOf(2)] });
    assert.equal(await store.subscriptions.count(), 4, 'subscriptions stay');
    await registerAll(7, 8);
    assert.deepEqual(await states(1, 2, 3, 9), {
      places: [1, 7, 8].map(originOf),
      dormant: [2, 3, 9].map(originOf),
    });
    for (const number of [7, 8]) await answer(number, 'accepted');
    nowMs += 61_000;
    await assert.rejects(register(9, true), full);
  });

  test('are dormant where nothing reached them, until one of their subscriptions registers or they accept a message', async () => {
    await registerAll(1, 2, 3);
    await answer(1, 'accepted');
    await store.unlisted.setDormant([1, 2, 3].map(originOf));
    assert.deepEqual(await states(1, 2, 3, 4), { places: [originOf(1)], dormant: [2, 3].map(originOf) });
    assert.deepEqual(await store.unlisted.among([1, 2, 4].map(originOf)), [1, 2].map(originOf));
    await registerAll(2);
    await answer(3, 'accepted');
    assert.deepEqual(await states(2, 3), { places: [1, 2, 3].map(originOf), dormant: [] });
  });

  test('take no place where nothing was stored', async () => {
    const refused = new Error('The application refuses it.');
    const fail = () => withUnlisted(store, originOf(1), max, () => Promise.reject(refused));
    await assert.rejects(fail, refused);
    assert.deepEqual(await store.unlisted.list(), []);
    await register(1);
    await assert.rejects(fail, refused);
    assert.deepEqual(await store.unlisted.list(), [originOf(1)]);
  });

  const leaseMs = 10_000;
  const outside = (recipient: Recipient, changes: Partial<RowResult> = {}): RowResult => {
    const retry = { delayMs: 3_000_000, attempts: 0, deferrals: 5, isOutside: true };
    const later = withRetry(originOfRow(recipient), nowMs, retry);
    return { ...later(recipient), attempts: 0, ...changes };
  };
  const accepted = (recipient: Recipient): RowResult =>
    withResult(originOfRow(recipient), 'accepted', { record: { attempt: 1, atMs: nowMs, status: 201 } })(
      recipient,
    );
  /** Of host 1 it is accepted, of the others it waits outside. */
  const broadcast = async (): Promise<number> => {
    const { id } = (await store.broadcasts.create(madeUpBroadcast(nowMs))).broadcast;
    await commitSlices(store, id, (row) => (originOfRow(row) === originOf(1) ? accepted(row) : outside(row)));
    return id;
  };
  const countsOf = async (id: number) => {
    const { state, finishedAtMs, waiting, counts } = await store.broadcasts.get(id);
    const named = Object.fromEntries(Object.entries(counts).filter(([, rows]) => rows !== 0));
    return { state, finishedAtMs, waiting, counts: named };
  };

  test('keep no broadcast open: messages to them wait outside, and are counted where they end', async () => {
    await store.webhooks.watch();
    for (const number of [1, 2, 2, 3]) await register(number);
    const id = await broadcast();
    const done = { state: 'done', finishedAtMs: nowMs, waiting: 0 };
    assert.deepEqual(await countsOf(id), { ...done, counts: { accepted: 1, dormant: 3 } });
    assert.deepEqual(await store.broadcasts.listOpen(10), []);
    assert.deepEqual(await store.broadcasts.countOpen(), {
      preparing: 0,
      running: 0,
      scheduled: 0,
      paused: 0,
    });
    const { alarms: _, ...backlog } = await store.statistics.backlog();
    assert.deepEqual(new Set(Object.values(backlog)), new Set([0]));
    const signal = AbortSignal.abort();
    assert.equal(await store.leases.waitForWork({ broadcastId: id, signal }), 'over');
    for (const change of [store.broadcasts.pause, store.broadcasts.cancel])
      await assert.rejects(change(id), { code: 'ERR_BROADCAST_STATE' });
    const due = () => store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.equal(await due(), undefined);

    const [, second, third, fourth] = (await store.subscriptions.page({ afterId: 0, limit: 9 })).map(
      (row) => row.id,
    );
    const stands = async () =>
      (await store.attempts.outcomesOf(id, [second!, third!, fourth!])).map(({ state, wait }) => [
        state,
        wait?.for,
      ]);
    assert.deepEqual(
      await stands(),
      [1, 2, 3].map(() => ['dormant', 'turn']),
    );
    await wakeMessages(store, originOf(2));
    nowMs += dormantKnownForMs;
    const woken = await due();
    assert.deepEqual(woken?.rows.map((row) => [row.position, row.isOutside]).toSorted(), [
      [second, true],
      [third, true],
    ]);
    const [one, other] = woken!.rows.toSorted((a, b) => a.position - b.position);
    await commitRows(store, woken!, [
      outside(one!, { wasOutside: true, attempts: 1 }),
      { ...accepted(other!), wasOutside: true },
    ]);
    assert.deepEqual(await countsOf(id), { ...done, counts: { accepted: 2, dormant: 2 } });
    assert.deepEqual(await stands(), [
      ['dormant', 'turn'],
      ['accepted', undefined],
      ['dormant', 'turn'],
    ]);
    await store.subscriptions.removeById(fourth!);
    nowMs += 3_000_000;
    const last = await due();
    assert.deepEqual(pluck(last!.rows, 'position'), [second]);
    await commitRows(store, last!, [{ ...accepted(last!.rows[0]!), wasOutside: true }]);
    assert.deepEqual(
      await countsOf(id),
      { ...done, counts: { accepted: 3, dormant: 1 } },
      'who left was counted',
    );
    const totals = await store.statistics.outcomeTotals();
    assert.deepEqual(
      [totals.reduce((sum, row) => sum + row.accepted, 0), totals.reduce((sum, row) => sum + row.dormant, 0)],
      [3, 3],
    );
    const events = await store.webhooks.lease({ limit: 10, leaseMs });
    assert.deepEqual(pluck(events, 'type', 'atMs'), [['broadcast.done', done.finishedAtMs]]);
    // nothing is left of it, so that retention may delete it
    nowMs += 1000;
    assert.equal(await store.retention.prune({ broadcastsBeforeMs: nowMs }), true);
    while (await store.retention.prune({ broadcastsBeforeMs: nowMs }));
    assert.equal(await store.broadcasts.find(id), undefined);
  });

  test('keep a paused broadcast where all that is left waits outside, until it is resumed', async () => {
    for (const number of [1, 2]) await register(number);
    const { id } = (await store.broadcasts.create(madeUpBroadcast(nowMs))).broadcast;
    const slices = await leaseSlices(store, id);
    await store.broadcasts.pause(id);
    for (const slice of slices) await commitSlice(store, slice, outside);
    assert.equal((await countsOf(id)).state, 'paused');
    await store.broadcasts.resume(id);
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10, broadcastId: id }), undefined);
    assert.deepEqual(await countsOf(id), {
      state: 'done',
      finishedAtMs: nowMs,
      waiting: 0,
      counts: { dormant: 2 },
    });
  });
});
