// A broadcast that is cancelled leaves no slice and no retry behind: neither those that nobody had leased nor what a worker held.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addSubscriptions,
  commitRows,
  commitSlice,
  commitSlices,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const leaseMs = 10_000;

describe(`a broadcast that is cancelled: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

  test('a broadcast that is cancelled leaves no slice behind', async () => {
    await store.run(
      'create table expected (slices int check (slices = 1)); create table none (slices int check (slices = 0))',
    );
    await addSubscriptions(store, 50);
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs));
    const slice = await leaseNext(store);
    await store.broadcasts.cancel(broadcast.id);
    await store.run('insert into expected select count(*) from slices');
    await store.leases.release(slice);
    await store.run('insert into none select count(*) from slices');
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
  });

  test('a retry that a worker held when its broadcast was cancelled goes when it is settled or given back', async () => {
    await store.run('create table none (retries int check (retries = 0))');
    await addSubscriptions(store, 2);
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs));
    const retried = withRetry('https://push.example.net', nowMs);
    await commitSlices(store, broadcast.id, retried);
    const [settled, givenBack] = [
      await store.leases.leaseRetries({ leaseMs, limit: 1 }),
      await store.leases.leaseRetries({ leaseMs, limit: 1 }),
    ];
    await store.broadcasts.cancel(broadcast.id);
    await commitRows(store, settled!, settled!.rows.map(retried));
    await store.leases.release(givenBack!);
    await store.run('insert into none select count(*) from retries');
  });

  test('retention deletes what a process left behind that was killed while it cancelled, or worked on what was cancelled', async () => {
    await store.run(
      'create table left_behind (slices int, retries int, check (slices = 2 and retries = 10))',
    );
    await store.run('create table none (left_behind int check (left_behind = 0))');
    await addSubscriptions(store, 30);
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs));
    await commitSlice(store, await leaseNext(store), withRetry('https://push.example.net', nowMs));
    await leaseNext(store);
    await store.leases.leaseRetries({ leaseMs, limit: 5 });
    // the first of the transactions that `cancel` makes
    await store.run(
      `update broadcasts set state = 'cancelled', finished_at_ms = ${nowMs} where id = ${broadcast.id}`,
    );
    nowMs += 3_600_000;
    await store.retention.prune({});
    await store.run(
      'insert into left_behind select (select count(*) from slices), (select count(*) from retries)',
    );
    nowMs += 1;
    await store.retention.prune({});
    await store.run('insert into none select (select count(*) from slices) + (select count(*) from retries)');
  });
});
