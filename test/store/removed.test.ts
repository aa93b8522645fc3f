// Rows whose subscription has left the store before their turn are counted where a worker comes to their place, in whatever form
// an audience is stored; what is still missing when a broadcast is done raises an alarm.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, test } from 'node:test';
import { readRows } from '../../tools/postgres-client.ts';
import type { NewBroadcast } from '../../src/store/broadcasts.ts';
import type { StoreAddress } from '../../src/store/store.ts';
import {
  addSubscriptions,
  commitNext,
  commitPage,
  commitRows,
  commitSlice,
  commitSlices,
  createMatching,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  openList,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { pluck } from '../../tools/pluck.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;
const hourMs = 60 * 60 * 1000;
/** So few that PostgreSQL has slices of one partition each, and so many that it has slices of all. */
const shapes = [
  ['slices of one partition', { sliceRows: 2 }],
  ['slices of all subscriptions', { sliceRows: 20 }],
] as const;
const audience = 100;

const accepted = withResult(origin, 'accepted');

async function countRemovals({ options }: StoreAddress): Promise<number> {
  const { path = '', url } = options as { readonly path?: string; readonly url?: string };
  const sql = 'select count(*) as rows from';
  if (url === undefined) {
    using database = new DatabaseSync(path, { readOnly: true });
    return Number(database.prepare(`${sql} removals`).get()?.['rows']);
  }
  const [row] = await readRows(url, `${sql} deskbell.removals`);
  return Number(row?.['rows']);
}

describe('rows whose subscription is removed', () => {
  let nowMs = Date.now();
  const store = openForEachTest(() => nowMs);
  beforeEach(() => {
    nowMs = Date.now();
  });

  const create = async (changes: Partial<NewBroadcast> = {}): Promise<number> =>
    (await store.broadcasts.create(madeUpBroadcast(nowMs, changes))).broadcast.id;

  const remove = async (...ids: readonly number[]): Promise<void> => {
    for (const id of ids) assert.ok(await store.subscriptions.removeById(id));
  };

  const allIds = async (): Promise<readonly number[]> =>
    (await store.subscriptions.page({ afterId: 0, limit: 10_000 })).map(({ id }) => id);

  const settle = (broadcastId: number, toResult = accepted) => commitSlices(store, broadcastId, toResult);

  /** Its counts that are not 0. */
  const countsOf = async (id: number) => {
    const { state, counts, alarms } = await store.broadcasts.get(id);
    const sum = Object.values(counts).reduce((total, count) => total + count, 0);
    assert.equal(sum, (await store.broadcasts.get(id)).recipients);
    const shown = Object.entries(counts).filter(([, count]) => count !== 0);
    return { state, ...Object.fromEntries(shown), alarms: alarms.map(({ reason, rows }) => [reason, rows]) };
  };

  for (const [shape, changes] of shapes) {
    test(`are counted once each, those before the broadcast are not: ${shape}`, async () => {
      await addSubscriptions(store, audience + 2);
      const [early, ...ids] = await allIds();
      await remove(early!, ids.pop()!);
      const id = await create(changes);
      const before = [ids[0]!, ids[1]!, ids[50]!, ids.at(-1)!];
      await remove(...before);
      await addSubscriptions(store, 10, 1000);
      let slice = await leaseNext(store, id);
      let [read] = await store.ledger.readRows(slice, slice.cursor, 1);
      while (read === undefined) {
        await commitSlice(store, slice, accepted);
        slice = await leaseNext(store, id);
        [read] = await store.ledger.readRows(slice, slice.cursor, 1);
      }
      // removed while its message was on its way
      await commitPage(store, slice, [accepted(read)], { cursor: read.position });
      await remove(read.position);
      await store.leases.release({ ...slice, slice: slice.slice });
      await settle(id);
      assert.deepEqual(await countsOf(id), {
        state: 'done',
        accepted: audience - before.length,
        removed: before.length,
        alarms: [],
      });
    });

    test(`are counted as soon as the cursor has passed them: ${shape}`, async () => {
      await addSubscriptions(store, audience);
      const ids = await allIds();
      const id = await create(changes);
      await remove(...ids);
      for (let slices = 0; slices < 3; slices += 1) await commitNext(store, accepted, id);
      const { removed, pending } = (await store.broadcasts.get(id)).counts;
      assert.ok(removed > 0 && pending === audience - removed, `${removed} removed, ${pending} pending`);
      assert.equal((await store.statistics.backlog()).pendingRows, pending);
      await settle(id);
      assert.deepEqual(await countsOf(id), { state: 'done', removed: audience, alarms: [] });
    });

    test(`are counted while others are removed and broadcasts are made at the same time: ${shape}`, async () => {
      await addSubscriptions(store, 4 * audience);
      const ids = await allIds();
      const made: number[] = [];
      const removing = Promise.all(
        [0, 1, 2, 3].map(async (part) => {
          for (const id of ids.filter((_, index) => index % 4 === part)) await remove(id);
        }),
      );
      const sending = (async () => {
        for (let round = 0; round < 12; round += 1) {
          const id = await create(changes);
          made.push(id);
          await settle(id);
        }
      })();
      await Promise.all([removing, sending]);
      for (const id of made) {
        const { state, counts, alarms } = await store.broadcasts.get(id);
        assert.deepEqual([state, counts.unaccounted, alarms], ['done', 0, []]);
      }
    });
  }

  test('are missed where nothing tells of them: the rest is shown, and an alarm is raised once', async () => {
    await addSubscriptions(store, 10);
    const id = await create();
    await remove((await allIds())[4]!);
    await store.run('delete from removals');
    const { newAlarms } = await commitNext(store, accepted, id);
    assert.deepEqual(pluck(newAlarms, 'origin', 'reason', 'rows'), [['', 'counts-differ', 1]]);
    assert.deepEqual(await countsOf(id), {
      state: 'done',
      accepted: 9,
      unaccounted: 1,
      alarms: [['counts-differ', 1]],
    });
    const tooMany = await create();
    await store.run('update broadcasts set audience = audience - 1');
    await settle(tooMany);
    assert.deepEqual(await countsOf(tooMany), {
      state: 'done',
      accepted: 9,
      unaccounted: -1,
      alarms: [['counts-differ', 1]],
    });
  });

  test('are counted where a retry has nobody to be sent to', async () => {
    await addSubscriptions(store, 10);
    const ids = await allIds();
    const id = await create();
    await settle(id, withRetry(origin, nowMs, { delayMs: 10 }));
    await remove(...ids.slice(0, 3));
    nowMs += 10;
    const retries = await store.leases.leaseRetries({ leaseMs, limit: 100, broadcastId: id });
    assert.equal(retries?.rows.length, 7);
    assert.equal((await store.broadcasts.get(id)).counts.removed, 3);
    await commitRows(store, retries, retries.rows.map(accepted));
    assert.deepEqual(await countsOf(id), { state: 'done', accepted: 7, removed: 3, alarms: [] });
  });

  const putPeople = () =>
    addSubscriptions(store, 20, 0, (index) => ({
      assign: { user: `person${index}`, tags: ['news'] },
    }));

  test('are counted where a person is removed from an audience by tags, also while a worker has the slice', async () => {
    await putPeople();
    const draft = madeUpBroadcast(nowMs, { sliceRows: 20 });
    const { id } = await createMatching(store, { tags: { all: ['news'] } }, draft);
    const slice = await leaseNext(store, id);
    await store.people.remove('person7');
    const answer = await commitSlice(store, slice, accepted);
    assert.equal(answer.isLeaseLost, true, 'its members are others now');
    await settle(id);
    await store.people.remove('person8');
    assert.deepEqual(await countsOf(id), { state: 'done', accepted: 19, removed: 1, alarms: [] });
  });

  test('are not counted where a person is removed whose row was the last that was sent', async () => {
    await putPeople();
    const draft = madeUpBroadcast(nowMs, { sliceRows: 20 });
    const { id } = await createMatching(store, { tags: { all: ['news'] } }, draft);
    const slice = await leaseNext(store, id);
    const rows = await store.ledger.readRows(slice, slice.cursor, 10);
    const last = rows.at(-1)!;
    await commitPage(store, slice, rows.map(accepted), { cursor: last.position });
    const { user } = (await store.subscriptions.findById(last.subscriptionId!))!;
    await store.people.remove(user!);
    await store.leases.release({ ...slice, slice: slice.slice });
    await settle(id);
    assert.deepEqual(await countsOf(id), { state: 'done', accepted: 20, alarms: [] });
  });

  test('are counted where a person is removed whose row waits, or who is in a list', async () => {
    await putPeople();
    const createToList = async () => create({ audienceId: await openList(store, [5, 6, 7]) });
    const waiting = await create({ sliceRows: 20 });
    const waitingInPartitions = await create({ sliceRows: 2 });
    const waitingList = await createToList();
    for (const id of [waiting, waitingInPartitions, waitingList])
      await settle(id, withRetry(origin, nowMs, { delayMs: hourMs }));
    const toList = await createToList();
    await store.people.remove('person6');
    await settle(toList);
    assert.deepEqual(await countsOf(toList), { state: 'done', accepted: 2, removed: 1, alarms: [] });
    for (const id of [waiting, waitingInPartitions])
      assert.deepEqual(await countsOf(id), { state: 'running', removed: 1, pending: 19, alarms: [] });
    assert.deepEqual(await countsOf(waitingList), { state: 'running', removed: 1, pending: 2, alarms: [] });
    for (const id of [waiting, waitingList]) await store.broadcasts.pause(id);
    await store.people.remove('person7');
    assert.deepEqual(await countsOf(waiting), { state: 'paused', removed: 2, pending: 18, alarms: [] });
    assert.deepEqual(await countsOf(waitingList), { state: 'paused', removed: 2, pending: 1, alarms: [] });
  });

  test('are known until no open broadcast can come to them, and then forgotten', async () => {
    await addSubscriptions(store, 10);
    const [one, two] = await allIds();
    await remove(one!);
    const id = await create();
    await remove(two!);
    await store.retention.prune({});
    assert.equal(await countRemovals(store.address), 2, 'a broadcast may be being made');
    // SQLite notes whole seconds
    nowMs += hourMs - 1000;
    await store.retention.prune({});
    assert.equal(await countRemovals(store.address), 2, 'for an hour at least');
    nowMs += hourMs;
    await store.retention.prune({});
    assert.equal(await countRemovals(store.address), 1);
    await store.broadcasts.pause(id);
    await store.retention.prune({});
    assert.equal(await countRemovals(store.address), 1, 'one that is paused is open too');
    await store.broadcasts.resume(id);
    await settle(id);
    assert.deepEqual(await countsOf(id), { state: 'done', accepted: 8, removed: 1, alarms: [] });
    await store.retention.prune({});
    assert.equal(await countRemovals(store.address), 0);
  });
});
