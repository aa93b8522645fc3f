// A broadcast that is cancelled leaves no slice and no retry behind: neither those that nobody had leased nor what a worker held.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addSubscriptions,
  commitRows,
  commitSlices,
  leaseNext,
  madeUpBroadcast,
  withRetry,
} from './store-under-test.ts';
import { openTestStore } from './test-database.ts';

const leaseMs = 10_000;

test('a broadcast that is cancelled leaves no slice behind', async (t) => {
  const { store, run, remove } = await openTestStore();
  t.after(remove);
  await run(
    'create table expected (slices int check (slices = 1)); create table none (slices int check (slices = 0))',
  );
  await addSubscriptions(store, 50);
  const { broadcast } = await store.broadcasts.create(madeUpBroadcast(store.now()));
  const slice = await leaseNext(store);
  await store.broadcasts.cancel(broadcast.id);
  await run('insert into expected select count(*) from slices');
  await store.leases.release(slice);
  await run('insert into none select count(*) from slices');
  assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
});

test('a retry that a worker held when its broadcast was cancelled goes when it is settled or given back', async (t) => {
  const { store, run, remove } = await openTestStore();
  t.after(remove);
  await run('create table none (retries int check (retries = 0))');
  await addSubscriptions(store, 2);
  const { broadcast } = await store.broadcasts.create(madeUpBroadcast(store.now()));
  const retried = withRetry('https://push.example.net', store.now());
  await commitSlices(store, broadcast.id, retried);
  const [settled, givenBack] = [
    await store.leases.leaseRetries({ leaseMs, limit: 1 }),
    await store.leases.leaseRetries({ leaseMs, limit: 1 }),
  ];
  await store.broadcasts.cancel(broadcast.id);
  await commitRows(store, settled!, settled!.rows.map(retried));
  await store.leases.release(givenBack!);
  await run('insert into none select count(*) from retries');
});
