// What every store must do for broadcasts, whatever database or job queue is behind it: slices under leases, page
// commits that count each row once, retries, control.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { type BroadcastFilter, searchBroadcasts } from '../../src/operator/searches.ts';
import { type Broadcast, type NewBroadcast, type Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { SliceLease } from '../../src/store/leases.ts';
import { madeUpSubscription, noOutcomes, vapidPublicKey } from './made-up-subscription.ts';
import {
  acceptAll,
  addSubscriptions,
  commitPage,
  commitRows,
  commitSlice,
  commitSlices,
  leaseNext,
  madeUpBroadcast,
  openForSuite,
  openIds,
  openList,
  removeSubscriptions,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;

const expired = (recipient: Recipient): RowResult => ({ recipient, origin, attempts: 0, result: 'expired' });

describe(`broadcasts: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForSuite(() => nowMs);
  beforeEach(async () => {
    for (const { id, state } of await store.broadcasts.list({ limit: 100 })) {
      if (state === 'running' || state === 'paused') await store.broadcasts.cancel(id);
    }
    await removeSubscriptions(store);
    nowMs += 60_000;
  });

  const draft = (changes?: Partial<NewBroadcast>) => madeUpBroadcast(nowMs, changes);

  const createBroadcast = async (changes: Partial<NewBroadcast> = {}): Promise<Broadcast> =>
    (await store.broadcasts.create(draft(changes))).broadcast;

  const found = async (id: number): Promise<Broadcast> => {
    const broadcast = await store.broadcasts.find(id);
    assert.ok(broadcast);
    assertAddsUp(broadcast);
    return broadcast;
  };

  const sourceOf = async (id: number) => {
    const { audience, createdBy } = await found(id);
    return [audience, createdBy];
  };

  const lease = (broadcastId?: number) => leaseNext(store, broadcastId);

  const settle = (slice: SliceLease, toResult: (recipient: Recipient) => RowResult = accepted) =>
    commitSlice(store, slice, toResult);

  const settleAll = (broadcastId: number, toResult = accepted) => commitSlices(store, broadcastId, toResult);

  /** Its answer is still to come. */
  const stillOut = (recipient: Recipient): RowResult => ({
    recipient,
    origin,
    attempts: 0,
    result: 'detached',
    retry: { delayMs: leaseMs, attempts: 0, deferrals: 0, expiresAtMs: nowMs + 1e6 },
  });

  /** What a worker that has nothing to do is told, without waiting. */
  const workState = (broadcastId?: number) =>
    store.leases.waitForWork({ broadcastId, signal: AbortSignal.abort() });

  const retryAfter = (delayMs: number, attempts = 1) => withRetry(origin, nowMs, { delayMs, attempts });

  test('a broadcast to all covers every subscription of its moment, and none that came later', async () => {
    await addSubscriptions(store, 95);
    const { id } = await createBroadcast();
    await addSubscriptions(store, 5, 1000);
    const seen = pluck(await acceptAll(store, origin, id), 'endpoint');
    assert.deepEqual([seen.length, new Set(seen).size], [95, 95]);
    const broadcast = await found(id);
    assert.equal(broadcast.state, 'done');
    assert.equal(broadcast.counts.accepted, 95);
    assert.equal(broadcast.finishedAtMs, nowMs);
    assert.deepEqual(broadcast.origins, [{ origin, ...noOutcomes, attempts: 95, accepted: 95 }]);
  });

  test('a broadcast says whom it was asked to be sent to, and who made it, where that was recorded', async () => {
    const { id } = await createBroadcast();
    const ids = await openIds(store, []);
    const byId = await createBroadcast({ audienceId: ids, list: 'ids', createdBy: { operator: 'ada' } });
    const matching = { user: 'bob', tags: { any: ['news'] } };
    const audienceId = await store.broadcasts.openAudience();
    const tagged = await createBroadcast({ audienceId, matching, user: 'bob', createdBy: { schedule: 3 } });
    const former = await createBroadcast({ audienceId: await openIds(store, []) });
    assert.deepEqual(await sourceOf(id), ['all', undefined]);
    assert.deepEqual(await sourceOf(byId.id), [{ list: 'ids' }, { operator: 'ada' }]);
    assert.deepEqual(await sourceOf(tagged.id), [matching, { schedule: 3 }]);
    assert.deepEqual(await sourceOf(former.id), [undefined, undefined]);
    // erasing a person takes the broadcasts that were for this person with it
    await store.people.remove('bob');
    assert.equal(await store.broadcasts.find(tagged.id), undefined);
  });

  test('broadcasts that are not over are listed, newest first, and counted by state', async () => {
    await addSubscriptions(store, 1);
    const created: number[] = [];
    for (let index = 0; index < 5; index += 1) created.push((await createBroadcast()).id);
    const { id: scheduled } = await createBroadcast({ startAtMs: nowMs + 1000 });
    const [paused, cancelled, ...running] = created as [number, number, ...number[]];
    await store.broadcasts.pause(paused);
    await store.broadcasts.cancel(cancelled);
    const audienceId = await store.broadcasts.openAudience();
    const { id } = await createBroadcast({ audienceId, matching: { tags: { any: ['news'] } } });
    const newestFirst = [id, scheduled, ...running.toReversed(), paused];
    assert.deepEqual(pluck(await store.broadcasts.listOpen(10), 'id'), newestFirst);
    assert.equal((await store.broadcasts.listOpen(2)).length, 2);
    const open = { preparing: 1, running: 3, scheduled: 1, paused: 1 };
    assert.deepEqual(await store.broadcasts.countOpen(), open);
    await store.broadcasts.pause(id);
    assert.deepEqual(await store.broadcasts.countOpen(), { ...open, preparing: 0, paused: 2 });
  });

  test('broadcasts are read together by their ids, newest first, those that there are', async () => {
    await addSubscriptions(store, 1);
    const ids: number[] = [];
    // more than one statement reads
    for (let count = 0; count < 53; count += 1) ids.push((await createBroadcast()).id);
    const newestFirst = await store.broadcasts.findAll([...ids, ids[0]!, 999_999]);
    assert.deepEqual(pluck(newestFirst, 'id'), ids.toReversed());
    assert.deepEqual(newestFirst[0], await store.broadcasts.find(ids.at(-1)!));
    assert.deepEqual(await store.broadcasts.findAll([]), []);
  });

  test('broadcasts are found by words, state and time, newest first', async () => {
    await addSubscriptions(store, 1);
    const start = nowMs;
    const { id: tea } = await createBroadcast({ payload: payloadOf('ÜBERRASCHUNG "Tea"', 'at five') });
    const { id: coffee } = await createBroadcast({
      payload: payloadOf('Coffee', 'über <b>all</b>'),
      startAtMs: start + 1000,
    });
    const { id: later } = await createBroadcast({
      payload: payloadOf('Über', ''),
      startAtMs: start + 60_000,
    });
    await store.broadcasts.pause(coffee);
    nowMs = start + 1000;
    const find = async (filter: BroadcastFilter, limit = 10, beforeId?: number) => {
      const { items, next } = await searchBroadcasts(store.broadcasts, filter, { limit, beforeId });
      return { ids: items.map(({ id }) => id), next };
    };

    assert.deepEqual((await find({ text: ' über ' })).ids, [later, coffee, tea]);
    assert.deepEqual((await find({ text: '"tea"' })).ids, [tea]);
    assert.deepEqual((await find({ text: '<B>' })).ids, [coffee]);
    assert.deepEqual((await find({ text: 'title' })).ids, []);
    assert.deepEqual((await find({ state: 'scheduled', sinceMs: start })).ids, [later]);
    assert.deepEqual((await find({ state: 'running', sinceMs: start })).ids, [tea]);
    assert.deepEqual((await find({ state: 'paused', sinceMs: start })).ids, [coffee]);
    assert.deepEqual((await find({ sinceMs: start, untilMs: start + 60_000 })).ids, [coffee, tea]);

    const first = await find({ text: 'über' }, 2);
    assert.deepEqual(first.ids, [later, coffee]);
    assert.deepEqual((await find({ text: 'über' }, 2, first.next)).ids, [tea]);
  });

  test('recipients come whole: id, keys and the VAPID key that they were made with', async () => {
    await addSubscriptions(store, 1);
    await createBroadcast();
    const [recipient] = await store.ledger.readRows(await lease(), 0, 10);
    const [stored] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    assert.ok(recipient && stored);
    assert.deepEqual(
      { ...recipient },
      {
        position: stored.id,
        subscriptionId: stored.id,
        endpoint: stored.endpoint,
        p256dh: stored.p256dh,
        auth: stored.auth,
        vapidPublicKey,
        // as the database has it: these were imported
        updatedAtMs: 0,
      },
    );
  });

  test('the same key with the same content is the same broadcast; with other content it is an error', async () => {
    await addSubscriptions(store, 3);
    const first = await store.broadcasts.create(draft({ idempotencyKey: 'launch' }));
    const again = await store.broadcasts.create(draft({ idempotencyKey: 'launch', startAtMs: nowMs + 5000 }));
    assert.equal(first.isNew, true);
    assert.equal(again.isNew, false);
    assert.equal(again.broadcast.id, first.broadcast.id);
    await assert.rejects(
      store.broadcasts.create(draft({ idempotencyKey: 'launch', contentHash: new Uint8Array(32) })),
      { code: 'ERR_IDEMPOTENCY_KEY' },
    );
    await settleAll(first.broadcast.id);
    const afterwards = await store.broadcasts.create(draft({ idempotencyKey: 'launch' }));
    assert.equal(afterwards.isNew, false);
    assert.equal(afterwards.broadcast.state, 'done');
  });

  test('creations with one key at the same time make one broadcast', async () => {
    await addSubscriptions(store, 3);
    const made = await Promise.all(
      Array.from({ length: 10 }, () => store.broadcasts.create(draft({ idempotencyKey: 'at once' }))),
    );
    assert.equal(made.filter(({ isNew }) => isNew).length, 1);
    assert.equal(new Set(made.map(({ broadcast }) => broadcast.id)).size, 1);
  });

  test('a list may hold subscriptions that are not stored; they are sent to and not added to the store', async () => {
    const audienceId = await openList(store, [1, 2, 3, 2]);
    const { id, audience, recipients } = await createBroadcast({ audienceId });
    assert.deepEqual([audience, recipients], [undefined, 3]);
    const seen = await acceptAll(store, origin, id);
    assert.deepEqual(
      seen.map(({ endpoint, p256dh, auth }) => ({ endpoint, p256dh, auth })),
      [1, 2, 3].map(madeUpSubscription),
    );
    assert.ok(seen.every(({ subscriptionId }) => subscriptionId === undefined));
    assert.equal(await store.subscriptions.count(), 0);
  });

  test('slices do not overlap and cover the audience, also where ids have gaps', async () => {
    await addSubscriptions(store, 200);
    const rows = await store.subscriptions.page({ afterId: 0, limit: 200 });
    for (const [index, { id }] of rows.entries()) {
      if (index % 3 === 0 || (index > 20 && index < 90)) await store.subscriptions.removeById(id);
    }
    const left = (await store.subscriptions.page({ afterId: 0, limit: 200 })).map(({ id }) => id);
    const { id } = await createBroadcast();
    const seen = (await acceptAll(store, origin, id)).map(({ position }) => position);
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      left,
    );
  });

  test('a slice is held by one worker until its lease runs out, then another continues at the cursor', async () => {
    await addSubscriptions(store, 10);
    const { id } = await createBroadcast();
    const stalled = await lease();
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);

    nowMs += leaseMs;
    const first = await lease();
    assert.deepEqual([first.slice, first.cursor], [stalled.slice, stalled.cursor]);
    assert.equal((await settle(stalled)).isLeaseLost, true);
    assert.equal((await found(id)).counts.accepted, 0, 'its cursor is right, its token is not');

    const rows = await store.ledger.readRows(first, first.cursor, 4);
    const cursor = rows.at(-1)?.position ?? 0;
    await commitPage(store, first, rows.map(accepted), { cursor });

    nowMs += leaseMs - 1;
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined, 'the commit renewed the lease');
    nowMs += 1;
    const second = await lease();
    assert.equal(second.slice, first.slice);
    assert.equal(second.cursor, cursor);

    const late = await settle(first);
    assert.equal(late.isLeaseLost, true);
    assert.equal((await found(id)).counts.accepted, 4, 'nothing of the late commit was stored');

    assert.equal((await settle(second)).isLeaseLost, false);
    const broadcast = await found(id);
    assert.equal(broadcast.state, 'done');
    assert.equal(broadcast.counts.accepted, 10);
  });

  test('a lease is held longer by renewing it, and given back by releasing it', async () => {
    await addSubscriptions(store, 10);
    await createBroadcast();
    const first = await lease();
    nowMs += leaseMs - 1;
    await store.leases.renew(first, leaseMs);
    nowMs += leaseMs - 1;
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
    await store.leases.release(first);
    const second = await lease();
    await store.leases.renew(first, leaseMs * 100);
    await store.leases.release(first);
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined, 'an old token moves nothing');
    nowMs += leaseMs;
    assert.equal((await lease()).slice, second.slice);
  });

  test('many workers at once get different slices', async () => {
    await addSubscriptions(store, 100);
    await createBroadcast();
    const slices = await Promise.all(Array.from({ length: 10 }, () => lease()));
    assert.equal(new Set(slices.map(({ slice }) => slice)).size, 10);
  });

  test('a small broadcast does not wait for a large one that began earlier', async () => {
    await addSubscriptions(store, 100);
    const large = await createBroadcast();
    for (let index = 0; index < 3; index += 1) await settle(await lease());
    const small = await createBroadcast({ audienceId: await openList(store, [1]) });
    assert.equal((await lease()).broadcastId, small.id);
    assert.equal((await lease()).broadcastId, large.id);
  });

  test('of four leases, three are of broadcasts with high priority, and one is of the others', async () => {
    await addSubscriptions(store, 100);
    const normal = await createBroadcast();
    const high = await createBroadcast({ priority: 'high' });
    assert.deepEqual([normal.priority, high.priority], [undefined, 'high']);
    const leased: number[] = [];
    for (let index = 0; index < 20; index += 1) {
      leased.push((await lease()).broadcastId);
      if (index !== 7) continue;
      // it has its priority when it goes on, too
      await store.broadcasts.pause(high.id);
      await store.broadcasts.resume(high.id);
    }
    // whose turn it is depends on what this store has leased before
    for (const start of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
      const four = leased.slice(start, start + 4).filter((id) => id === high.id);
      assert.equal(four.length, 3, `from lease ${start}: ${leased.join()}`);
    }
    assert.equal(new Set(leased).size, 2);
    assert.equal(leased.filter((id) => id === high.id).length, 10, 'then all slices are leased');
  });

  test('a slice that was given back, or left by a worker that has died, is leased before new ones', async () => {
    await addSubscriptions(store, 100);
    await createBroadcast();
    const [first, second] = [await lease(), await lease(), await lease()];
    await store.leases.release(second!);
    assert.equal((await lease()).slice, second!.slice);
    assert.equal((await lease()).slice, 3);
    nowMs += leaseMs;
    assert.equal((await lease()).slice, first!.slice);
  });

  test('a broadcast that is scheduled is not touched before its time', async () => {
    await addSubscriptions(store, 3);
    const startAtMs = nowMs + 5000;
    const { id } = await createBroadcast({ startAtMs });
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
    assert.equal(await workState(id), 'idle');
    await store.broadcasts.pause(id);
    await store.broadcasts.resume(id);
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined, 'nor where it was paused');
    nowMs = startAtMs;
    assert.equal(await workState(id), 'ready');
    await settle(await lease());
    assert.equal((await found(id)).state, 'done');
  });

  test('a retry comes back when it is due and not before, and then counts once', async () => {
    await addSubscriptions(store, 5);
    const { id } = await createBroadcast();
    await settleAll(id, retryAfter(30_000));
    let broadcast = await found(id);
    assert.equal(broadcast.state, 'running');
    assert.equal(broadcast.waiting, 5);
    assert.equal(broadcast.counts.pending, 5);
    assert.equal(broadcast.origins[0]?.attempts, 5);
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);
    assert.equal(await workState(), 'idle');

    nowMs += 30_000;
    assert.equal(await workState(), 'ready');
    const claim = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.equal(claim?.rows.length, 5);
    assert.ok(claim?.rows.every(({ attempts }) => attempts === 1));
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);

    const [first, ...rest] = claim?.rows ?? [];
    assert.ok(claim && first);
    await commitRows(store, claim, [retryAfter(1000, 2)(first), ...rest.map(accepted)]);
    broadcast = await found(id);
    assert.equal(broadcast.counts.accepted, 4);
    assert.equal(broadcast.waiting, 1);
    assert.equal((await store.broadcasts.pause(id)).waiting, 1);
    await store.broadcasts.resume(id);

    nowMs += 1000;
    const last = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.equal(last?.rows[0]?.attempts, 2);
    assert.ok(last);
    await commitRows(store, last, last.rows.map(accepted));
    broadcast = await found(id);
    assert.equal(broadcast.state, 'done');
    assert.equal(broadcast.counts.accepted, 5);
    assert.equal(broadcast.origins[0]?.attempts, 11);
  });

  test('rows that were put off come before their time where that is asked for, and no others', async () => {
    await addSubscriptions(store, 5);
    const { id } = await createBroadcast();
    // each is due a second after the one before
    const tries = [
      { attempts: 0, deferrals: 0 },
      { attempts: 1, deferrals: 0 },
      { attempts: 1, deferrals: 1 },
      { attempts: 0, deferrals: 2 },
      { attempts: 0, deferrals: 0 },
    ];
    const positions: number[] = [];
    await settleAll(id, (recipient): RowResult => {
      const delayMs = 1000 * positions.push(recipient.position);
      const retry = { ...tries[positions.length - 1]!, delayMs, expiresAtMs: nowMs + 3_600_000 };
      return { ...retryAfter(0)(recipient), attempts: retry.attempts > 0 ? 1 : 0, retry };
    });
    const leaseAhead = async (aheadMs?: number, limit = 10) => {
      const claim = await store.leases.leaseRetries({ leaseMs, limit, aheadMs });
      return claim?.rows.map(({ position }) => positions.indexOf(position));
    };
    assert.equal(await leaseAhead(), undefined);
    assert.deepEqual(await leaseAhead(3500, 1), [0]);
    assert.deepEqual(await leaseAhead(3500), [2]);
    assert.deepEqual(await leaseAhead(4500), [3], 'and none that is leased');
    nowMs += 2000;
    assert.deepEqual(await leaseAhead(), [1]);
    await store.broadcasts.cancel(id);
  });

  test('claimed retries of a worker that died come due again, and its late commit counts nothing', async () => {
    await addSubscriptions(store, 3);
    const { id } = await createBroadcast();
    await settleAll(id, retryAfter(0));
    const dead = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    nowMs += leaseMs;
    const alive = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.ok(dead && alive);
    assert.equal(alive.rows.length, 3);
    await commitRows(store, dead, dead.rows.map(accepted));
    assert.equal((await found(id)).counts.accepted, 0);
    await commitRows(store, alive, alive.rows.map(accepted));
    assert.equal((await found(id)).counts.accepted, 3);
    assert.equal((await found(id)).state, 'done');
  });

  test('a row whose answer is still to come is held under the token of its slice, also beyond its end', async () => {
    await addSubscriptions(store, 10);
    const { id } = await createBroadcast();
    const slice = await lease();
    const rows = await store.ledger.readRows(slice, 0, 10);
    const results = rows.map((recipient, index) => (index < 2 ? stillOut(recipient) : accepted(recipient)));
    await commitPage(store, slice, results);
    assert.equal((await found(id)).state, 'running');
    nowMs += leaseMs - 1;
    await store.leases.renew(slice, leaseMs);
    nowMs += leaseMs - 1;
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);

    await commitRows(store, slice, rows.slice(0, 1).map(accepted));
    assert.equal((await found(id)).counts.accepted, 9);

    nowMs += leaseMs;
    const claim = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.deepEqual(pluck(claim!.rows, 'position'), [rows[1]?.position]);
    await commitRows(store, slice, rows.slice(1, 2).map(accepted));
    assert.equal((await found(id)).counts.accepted, 9, 'the row is another worker’s by now');
    assert.ok(claim);
    await store.leases.release(claim);
    assert.equal((await store.leases.leaseRetries({ leaseMs, limit: 10 }))?.rows.length, 1);
  });

  test('a subscription that is gone is deleted, unless it was renewed after it was read', async () => {
    await addSubscriptions(store, 3);
    const { id } = await createBroadcast();
    const slice = await lease();
    const rows = await store.ledger.readRows(slice, 0, 10);
    await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    await commitPage(store, slice, rows.map(gone));
    assert.equal((await found(id)).counts.gone, 3);
    assert.deepEqual(pluck(await store.subscriptions.page({ afterId: 0, limit: 10 }), 'endpoint'), [
      madeUpSubscription(1).endpoint,
    ]);
  });

  test('a subscription that is capped or dormant is not deleted', async () => {
    await addSubscriptions(store, 2);
    const { id } = await createBroadcast();
    await settleAll(id, (recipient) => ({
      ...accepted(recipient),
      result: recipient.position % 2 === 0 ? 'capped' : 'dormant',
    }));
    assert.equal(await store.subscriptions.count(), 2);
    const { counts } = await found(id);
    assert.deepEqual([counts.capped, counts.dormant], [1, 1]);
  });

  test('pausing stops the taking of work, and workers hear of it at their commit; resuming goes on', async () => {
    await addSubscriptions(store, 30);
    const { id } = await createBroadcast();
    const slice = await lease();
    assert.equal((await store.broadcasts.pause(id)).state, 'paused');
    assert.equal((await store.broadcasts.pause(id)).state, 'paused');
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
    assert.equal(await workState(id), 'over');
    assert.equal(await workState(), 'idle');
    const answer = await settle(slice);
    assert.equal(answer.isLeaseLost, false);
    assert.equal(answer.state, 'paused');
    assert.equal((await found(id)).counts.accepted, 10);
    assert.equal((await store.broadcasts.resume(id)).state, 'running');
    await settle(await lease());
    const last = await lease();
    await store.broadcasts.pause(id);
    await settle(last);
    assert.equal((await found(id)).counts.accepted, 30);
    assert.equal((await found(id)).state, 'done', 'nothing of it is left to be resumed');
  });

  test('a cancelled broadcast keeps what was done, counts the rest as cancelled, and is never taken up again', async () => {
    await addSubscriptions(store, 30);
    const { id } = await createBroadcast();
    await settle(await lease());
    await settle(await lease(), retryAfter(0));
    const inHand = await lease();
    assert.equal((await store.broadcasts.cancel(id)).state, 'cancelled');
    assert.equal((await found(id)).counts.cancelled, 20);
    const rows = await store.ledger.readRows(inHand, inHand.cursor, 10);
    const stored = await settle(inHand, (recipient) =>
      (recipient.position === rows[0]!.position ? stillOut : accepted)(recipient),
    );
    assert.equal(stored.state, 'cancelled');
    assert.equal((await found(id)).counts.accepted, 19);
    await commitRows(store, inHand, rows.slice(0, 1).map(accepted));
    const { counts, waiting } = await found(id);
    assert.equal(counts.accepted, 20, 'what was in hand is counted');
    assert.equal(counts.cancelled, 10);
    assert.equal(waiting, 0);
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);
    await assert.rejects(store.broadcasts.resume(id), { code: 'ERR_BROADCAST_STATE' });
    await assert.rejects(store.broadcasts.pause(id), { code: 'ERR_BROADCAST_STATE' });
  });

  test('a broadcast that is done cannot be paused, resumed or cancelled; an unknown one is not found', async () => {
    await addSubscriptions(store, 1);
    const { id } = await createBroadcast();
    await settleAll(id);
    for (const control of ['pause', 'resume', 'cancel'] as const) {
      await assert.rejects(store.broadcasts[control](id), { code: 'ERR_BROADCAST_STATE' });
      await assert.rejects(store.broadcasts[control](999_999), { code: 'ERR_BROADCAST_NOT_FOUND' });
    }
    assert.equal(await store.broadcasts.find(999_999), undefined);
  });

  test('what has no outcome when the time is over is taken by workers as before, and each row is settled', async () => {
    await addSubscriptions(store, 30);
    const { id } = await createBroadcast({ expiresAtMs: nowMs + 1000 });
    await settle(await lease(), retryAfter(500_000));
    await settle(await lease());
    const slice = await lease();
    nowMs += 1000;
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
    nowMs += leaseMs;
    await settle(await lease(), expired);
    assert.equal((await found(id)).state, 'running');
    nowMs += 500_000;
    const retries = await store.leases.leaseRetries({ leaseMs, limit: 100 });
    assert.ok(retries);
    await commitRows(store, retries, retries.rows.map(expired));
    const { state, counts, waiting } = await found(id);
    assert.equal(state, 'done');
    assert.equal(counts.accepted, 10);
    assert.equal(counts.expired, 20);
    assert.equal(waiting, 0);
    assert.equal((await settle(slice)).isLeaseLost, true);
  });

  test('an alarm is new once per broadcast, origin and reason, and counts its rows', async () => {
    await addSubscriptions(store, 30);
    const { id } = await createBroadcast();
    const first = await settle(await lease(), refused);
    assert.deepEqual(first.newAlarms, [
      { origin, reason: 'vapid-refused', detail: 'BadJwtToken', firstAtMs: nowMs, rows: 10 },
    ]);
    const firstAtMs = nowMs;
    nowMs += 10;
    assert.deepEqual((await settle(await lease(), refused)).newAlarms, []);
    // one that is tried again raises it, too
    await settle(await lease(), retryAfter(1000));
    nowMs += 1000;
    const claim = (await store.leases.leaseRetries({ leaseMs, limit: 10 }))!;
    const ofApple = { origin: 'https://web.push.apple.com' };
    const rows = claim.rows.map((row, index) => ({
      ...refused(row),
      ...ofApple,
      ...(index < 4 && { alarm: { reason: 'bad-ttl', detail: 'TTL' } }),
    }));
    const other = await commitRows(store, claim, rows);
    assert.equal(other.newAlarms.length, 2);
    assert.deepEqual((await found(id)).alarms, [
      { origin, reason: 'vapid-refused', detail: 'BadJwtToken', firstAtMs, rows: 20 },
      { ...ofApple, reason: 'bad-ttl', detail: 'TTL', firstAtMs: nowMs, rows: 4 },
      { ...ofApple, reason: 'vapid-refused', detail: 'BadJwtToken', firstAtMs: nowMs, rows: 6 },
    ]);
  });

  test('counts add up after any course of events', async () => {
    await addSubscriptions(store, 300);
    const { id } = await createBroadcast();
    const results = ['accepted', 'gone', 'rejected', 'expired', 'exhausted', 'retry'] as const;
    const anyResult = (recipient: Recipient): RowResult => {
      const result = results[Math.floor(Math.random() * results.length)] ?? 'accepted';
      return result === 'retry'
        ? retryAfter(Math.ceil(Math.random() * 1000))(recipient)
        : { ...accepted(recipient), result };
    };
    for (let turn = 0; turn < 2000 && (await found(id)).state === 'running'; turn += 1) {
      nowMs += 300;
      const dice = Math.random();
      if (dice < 0.1) nowMs += leaseMs;
      const slice = dice < 0.5 ? await store.leases.leaseSlice({ leaseMs }) : undefined;
      // half of the time the worker dies with the slice in its hands
      if (slice !== undefined && Math.random() < 0.5) await settle(slice, anyResult);
      const claim = await store.leases.leaseRetries({ leaseMs, limit: 7 });
      if (claim !== undefined && Math.random() < 0.7) {
        await commitRows(store, claim, claim.rows.map(anyResult));
      }
      if (dice > 0.97) {
        const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
        if (row !== undefined) await store.subscriptions.removeById(row.id);
      }
    }
    assert.equal((await found(id)).state, 'done');
  });
});

function accepted(recipient: Recipient): RowResult {
  return { recipient, origin, attempts: 1, result: 'accepted' };
}

function gone(recipient: Recipient): RowResult {
  return { recipient, origin, attempts: 1, result: 'gone' };
}

function refused(recipient: Recipient): RowResult {
  return {
    ...accepted(recipient),
    result: 'rejected',
    alarm: { reason: 'vapid-refused', detail: 'BadJwtToken' },
  };
}

function assertAddsUp({ recipients, counts, origins }: Broadcast): void {
  const sum = Object.values(counts).reduce((total, count) => total + count, 0);
  assert.equal(sum, recipients, `${JSON.stringify(counts)} adds up to the audience`);
  assert.ok(Object.values(counts).every((count) => count >= 0));
  assert.equal(
    origins.reduce((total, { accepted: count }) => total + count, 0),
    counts.accepted,
  );
}

const payloadOf = (title: string, message: string): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ title, message }));
