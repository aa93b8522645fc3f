// A broadcast that is cancelled leaves no slice behind: neither those that nobody had leased nor the one that a worker held.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addSubscriptions, madeUpBroadcast } from './store-under-test.ts';
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
  const slice = await store.leases.leaseSlice({ leaseMs });
  assert.ok(slice);
  await store.broadcasts.cancel(broadcast.id);
  await run('insert into expected select count(*) from slices');
  await store.leases.release(slice);
  await run('insert into none select count(*) from slices');
  assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
});
