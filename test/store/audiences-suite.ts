// Audiences of stored subscriptions: found range by range, by whichever process goes on.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Broadcast, Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { StoreAddress } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  addSubscriptions,
  commitSlices,
  createMatching,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  openIds,
  withResult,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';
import { refuses } from '../../tools/refuses.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 60_000;

const accepted = withResult(origin, 'accepted');

/** Kills a process at a random moment soon after its first range. @returns false where it had ended by itself */
async function prepareUntilKilled(address: StoreAddress, nowMs: number): Promise<boolean> {
  const file = fileURLToPath(new URL('preparing-child.ts', import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(address), String(nowMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), Math.random() * 5));
  const [, signal] = await once(child, 'close');
  return signal === 'SIGKILL';
}

describe(`audiences: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);
  const matching = { tags: { all: ['news'] } };
  /** So few that PostgreSQL finds them in several ranges, and in sets of one partition each. */
  const sliceRows = 4;
  let ids: readonly number[];

  beforeEach(async () => {
    nowMs = 1_800_000_000_000;
    await addSubscriptions(store, 403, 0, (index) => ({
      assign: { tags: index % 5 === 0 ? ['other'] : ['news', ...(index === 77 ? ['rare'] : [])] },
    }));
    const page = await store.subscriptions.page({ afterId: 0, limit: 2000, matching });
    ids = page.map(({ id }) => id);
  });

  const draft = (changes = {}) => madeUpBroadcast(nowMs, { sliceRows, ...changes });

  const create = async (changes = {}): Promise<Broadcast> => {
    const audienceId = await store.broadcasts.openAudience();
    return (await store.broadcasts.create({ ...draft(changes), audienceId, matching })).broadcast;
  };

  /** @returns the members of its slices, ascending: sent to in the tests that call `settle` */
  const membersOf = (broadcastId: number) => store.broadcasts.listedIds(broadcastId, 1000);

  /** @returns ids of all that it was sent to, ascending */
  const settle = async (broadcastId: number, toResult = accepted): Promise<readonly number[]> => {
    const seen: number[] = [];
    const see = (recipient: Recipient): RowResult => {
      seen.push(recipient.subscriptionId ?? 0);
      return toResult(recipient);
    };
    await commitSlices(store, broadcastId, see);
    return seen.sort((one, other) => one - other);
  };

  test('nothing is sent before the audience is complete, and then to each of its members once', async () => {
    const { id, state, recipients } = await create();
    assert.deepEqual([state, recipients], ['preparing', 0]);
    let ranges = 0;
    while (await store.broadcasts.prepare(id, 'one')) {
      ranges += 1;
      assert.equal(await store.leases.leaseSlice({ leaseMs, broadcastId: id }), undefined);
      assert.equal((await store.broadcasts.get(id)).state, 'preparing');
      assert.deepEqual(pluck(await store.broadcasts.listOpen(10), 'state'), ['preparing']);
    }
    assert.ok(ranges > 1, 'in several ranges');
    const complete = await store.broadcasts.get(id);
    assert.deepEqual([complete.state, complete.recipients], ['running', ids.length]);
    assert.deepEqual(await settle(id), ids);
    const { counts, state: end } = await store.broadcasts.get(id);
    assert.deepEqual([end, counts.accepted, counts.removed], ['done', ids.length, 0]);
  });

  test('another process goes on where one has ended, once its time is over', async () => {
    // which keeps nothing back that is asked for later
    await store.sending.pause('asked');
    const { id } = await create();
    assert.equal(await store.broadcasts.findUnprepared(), id);
    assert.equal(await store.broadcasts.prepare(id, 'one'), true);
    assert.equal(await store.broadcasts.findUnprepared(), undefined);
    assert.equal(await store.broadcasts.prepare(id, 'two'), false);
    nowMs += 10_000;
    assert.equal(await store.broadcasts.findUnprepared(), id);
    const untried = await create();
    assert.equal(await store.broadcasts.findUnprepared(), untried.id, 'before one that may fail again');
    await store.broadcasts.cancel(untried.id);
    assert.equal(await store.broadcasts.prepare(id, 'two'), true);
    assert.equal(await store.broadcasts.prepare(id, 'one'), false, 'it has lost the broadcast');
    while (await store.broadcasts.prepare(id, 'two'));
    assert.equal(await store.broadcasts.findUnprepared(), undefined);
    assert.deepEqual(await membersOf(id), ids);
  });

  test('with kill -9 again and again, other processes go on: nobody is missing, and nobody is in it twice', async () => {
    const { id } = await create({ sliceRows: 2 });
    let killed = 0;
    while (killed < 3 && (await store.broadcasts.get(id)).state === 'preparing') {
      if (await prepareUntilKilled(store.address, nowMs)) killed += 1;
      // what a process that was killed has leased is free again
      nowMs += 10_000;
    }
    while (await store.broadcasts.prepare(id, 'last'));
    assert.ok(killed >= 2, `${killed} processes were killed while it was preparing`);
    assert.equal((await store.broadcasts.get(id)).recipients, ids.length);
    assert.deepEqual(await membersOf(id), ids);
  });

  test('what a process leased by a clock that was ahead is free when that is set back', async () => {
    const { id } = await create();
    await store.broadcasts.prepare(id, 'one');
    nowMs -= 3_600_000;
    assert.equal(await store.broadcasts.findUnprepared(), id);
    await store.broadcasts.prepare(id, 'other');
    assert.equal(await store.broadcasts.findUnprepared(), undefined);
    while (await store.broadcasts.prepare(id, 'other'));
    assert.deepEqual(await membersOf(id), ids);
  });

  test('of two that look at the same ids at once, one stores what it has found', async () => {
    const { id } = await create();
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        while (await store.broadcasts.prepare(id, 'same'));
      }),
    );
    while (await store.broadcasts.prepare(id, 'same'));
    assert.equal((await store.broadcasts.get(id)).recipients, ids.length);
    assert.deepEqual(await membersOf(id), ids);
  });

  test('who subscribes while it is prepared is not in the audience', async () => {
    const { id } = await create();
    await store.broadcasts.prepare(id, 'one');
    await store.subscriptions.putAll([
      { subscription: madeUpSubscription(2000), vapidPublicKey, assign: { tags: ['news'] } },
    ]);
    while (await store.broadcasts.prepare(id, 'one'));
    assert.deepEqual(await membersOf(id), ids);
  });

  test('a repeat with the key returns it, as far as it is', async () => {
    const { id } = await create({ idempotencyKey: 'key' });
    await store.broadcasts.prepare(id, 'one');
    const again = await store.broadcasts.create({ ...draft({ idempotencyKey: 'key' }), matching });
    assert.deepEqual([again.isNew, again.broadcast.id, again.broadcast.state], [false, id, 'preparing']);
  });

  test('pausing it stops the preparation, until it is resumed', async () => {
    const { id } = await create();
    await store.broadcasts.prepare(id, 'one');
    assert.equal((await store.broadcasts.pause(id)).state, 'paused');
    assert.equal(await store.broadcasts.prepare(id, 'one'), false);
    nowMs += 10_000;
    assert.equal(await store.broadcasts.findUnprepared(), undefined);
    assert.equal((await store.broadcasts.resume(id)).state, 'preparing');
    while (await store.broadcasts.prepare(id, 'one'));
    assert.deepEqual(await membersOf(id), ids);
  });

  test('pausing it while ids are looked at pauses it, whichever comes first', async () => {
    const { id } = await create({ sliceRows: 1000 });
    await Promise.all([store.broadcasts.prepare(id, 'one'), store.broadcasts.pause(id)]);
    assert.equal((await store.broadcasts.get(id)).state, 'paused');
    await store.broadcasts.resume(id);
    while (await store.broadcasts.prepare(id, 'one'));
    assert.deepEqual(await membersOf(id), ids);
  });

  test('cancelling it ends the preparation, and its counts add up', async () => {
    const { id } = await create();
    await store.broadcasts.prepare(id, 'one');
    const { state, recipients, counts } = await store.broadcasts.cancel(id);
    assert.equal(state, 'cancelled');
    assert.equal(counts.cancelled, recipients);
    assert.equal(await store.broadcasts.prepare(id, 'one'), false);
    nowMs += 10_000;
    assert.equal(await store.broadcasts.findUnprepared(), undefined);
    assert.deepEqual(await settle(id), []);
    await assert.rejects(store.broadcasts.resume(id), { code: 'ERR_BROADCAST_STATE' });
  });

  test('cancelling it does all that can be seen of it at once, or nothing', async () => {
    const { id } = await create();
    await store.run('alter table preparations rename to lost');
    await assert.rejects(store.broadcasts.cancel(id));
    await store.run('alter table lost rename to preparations');
    assert.equal((await store.broadcasts.get(id)).state, 'preparing');
    await store.broadcasts.cancel(id);
    const none = { preparing: 0, running: 0, scheduled: 0, paused: 0 };
    assert.deepEqual(await store.broadcasts.countOpen(), none);
  });

  test('where sending is paused, so is the preparation', async () => {
    const { id } = await create();
    await store.broadcasts.prepare(id, 'one');
    const { id: paused } = await create();
    await store.broadcasts.pause(paused);
    assert.deepEqual((await store.sending.pause('asked')).broadcastIds, [id]);
    assert.equal((await store.broadcasts.get(id)).state, 'paused');
    assert.equal(await store.broadcasts.prepare(id, 'one'), false);
    assert.deepEqual(await store.sending.resume({ withBroadcasts: true }), [id]);
    assert.equal((await store.broadcasts.get(id)).state, 'preparing');
    assert.equal((await store.broadcasts.get(paused)).state, 'paused', 'as it was before');
    while (await store.broadcasts.prepare(id, 'one'));
    assert.deepEqual(await membersOf(id), ids);
  });

  test('to nobody it is done when all ids have been looked at, range by range', async () => {
    const expression = { tags: { all: ['news'], none: ['news'] } };
    const audienceId = await store.broadcasts.openAudience();
    const asked = draft({ audienceId, matching: expression, sliceRows: 1 });
    const { id } = (await store.broadcasts.create(asked)).broadcast;
    // as if there were many subscriptions
    await store.run(`update preparations set through_id = 32000 where broadcast_id = ${id}`);
    let ranges = 1;
    while (await store.broadcasts.prepare(id, 'one')) ranges += 1;
    // SQLite looks at 10 times 5 subscriptions with the tag at most, PostgreSQL at 1024 ids
    assert.ok(ranges > 5, `${ranges} ranges`);
    const { state, audience, recipients } = await store.broadcasts.get(id);
    assert.deepEqual([state, audience, recipients], ['done', expression, 0]);
    assert.deepEqual(await settle(id), []);
  });

  test('the few of a person are looked for all at once, however many ids there are', async () => {
    await store.people.assign(ids[7]!, { user: 'ada' });
    const audienceId = await store.broadcasts.openAudience();
    const asked = draft({ audienceId, matching: { user: 'ada' }, sliceRows: 1 });
    const { id } = (await store.broadcasts.create(asked)).broadcast;
    await store.run(`update preparations set through_id = 32000 where broadcast_id = ${id}`);
    assert.equal(await store.broadcasts.prepare(id, 'one'), false);
    assert.deepEqual(await settle(id), [ids[7]]);
  });

  test('ids are sent to once each, however many there are; those not stored count as removed', async () => {
    // more slices than one transaction writes down
    const audienceId = await openIds(store, [...ids, 1e9, 1e9 + 1], draft({ sliceRows: 2 }));
    const { broadcast } = await store.broadcasts.create(draft({ audienceId }));
    assert.deepEqual([broadcast.state, broadcast.recipients], ['running', ids.length + 2]);
    assert.deepEqual(await settle(broadcast.id), ids);
    const { state, counts } = await store.broadcasts.get(broadcast.id);
    assert.deepEqual([state, counts.accepted, counts.removed], ['done', ids.length, 2]);
  });

  test('members that have left the store are passed over, whole pages of them too', async () => {
    const { id } = await createMatching(store, matching, draft({ sliceRows: 1000 }));
    for (const removed of ids.slice(0, 30)) await store.subscriptions.removeById(removed);
    const slice = await leaseNext(store, id);
    const page = await store.ledger.readRows(slice, slice.cursor, 10);
    assert.deepEqual(pluck(page, 'position'), ids.slice(30, 40));
    const next = await store.ledger.readRows(slice, ids[39]!, 10);
    assert.deepEqual(pluck(next, 'position'), ids.slice(40, 50));
  });

  test('who is in the audience is known for as long as attempts are kept', async () => {
    const { id } = await create();
    const stateOf = async (subscriptionId: number) =>
      (await store.attempts.outcomesOf(id, [subscriptionId]))[0]?.state;
    assert.equal(await stateOf(ids[5]!), 'preparing', 'not looked for yet');
    assert.equal(await stateOf(ids[0]! - 1), 'preparing');
    while (await store.broadcasts.prepare(id, 'one'));
    assert.equal(await stateOf(ids[0]! - 1), 'notInAudience');
    await store.subscriptions.removeById(ids[5]!);
    await settle(id);
    const day = 24 * 60 * 60 * 1000;
    nowMs += 2 * day;
    while (await store.retention.prune({}));
    assert.deepEqual([await stateOf(ids[5]!), await stateOf(ids[6]!)], ['removed', 'accepted']);
    assert.equal(await stateOf(ids[0]! - 1), 'notInAudience');
    while (await store.retention.prune({ attemptsBeforeMs: nowMs }));
    assert.equal(await stateOf(ids[6]!), 'noLongerKept');
  });

  test('lists that nobody uses are deleted by retention alone, those of open broadcasts are kept', async () => {
    const subscriptions = Array.from({ length: 10 }, (_, index) => madeUpSubscription(index));
    const listOf = async () => {
      const audienceId = await store.broadcasts.openAudience();
      await store.broadcasts.addToAudience(audienceId, subscriptions);
      return audienceId;
    };
    const [unused, open, over] = [await listOf(), await listOf(), await listOf()];
    const waiting = await listOf();
    const { broadcast: third } = await store.broadcasts.create(draft({ audienceId: waiting }));
    await store.broadcasts.pause(third.id);
    const { broadcast: first } = await store.broadcasts.create(draft({ audienceId: open }));
    const { broadcast: second } = await store.broadcasts.create(draft({ audienceId: over }));
    await store.broadcasts.cancel(second.id);
    nowMs += 24 * 60 * 60 * 1000 + 1;
    const young = await store.broadcasts.openAudience();
    while (await store.retention.prune({}));
    for (const gone of [unused, over]) {
      await refuses(store.broadcasts.addToAudience(gone, subscriptions), 'ERR_FIELD_VALUE');
    }
    nowMs += 24 * 60 * 60 * 1000;
    while (await store.retention.prune({}));
    for (const kept of [open, waiting, young]) await store.broadcasts.addToAudience(kept, []);
    assert.equal((await store.broadcasts.get(first.id)).state, 'running');
  });
});
