// The tests of removed rows once more, with a store in PostgreSQL, and what happens there to transactions that are open at once.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import './use-postgres.ts';
import './removed.test.ts';
import { until } from '../../tools/until.ts';
import { acceptAll, addSubscriptions, madeUpBroadcast } from './store-under-test.ts';
import { openTestStore } from './test-database.ts';

const origin = 'https://fcm.googleapis.com';

/** A store with ten subscriptions, and a way to open connections to its database. */
async function openTen(t: TestContext) {
  const { store, remove } = await openTestStore();
  t.after(remove);
  await addSubscriptions(store, 10);
  const { url } = store.address.options as { readonly url: string };
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    return client;
  };
  const observer = await connect();
  return {
    store,
    connect,
    observer,
    /** Until so many connections wait for locks. */
    untilWaiting: (count: number) =>
      until(async () => {
        const { rows } = await observer.query<{ waiting: number }>(
          `select count(*)::int as waiting from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return (rows[0]?.waiting ?? 0) >= count;
      }, `${count} connections that wait`),
  };
}

test('an audience is frozen once removals that were begun before are committed', async (t) => {
  const { store, connect, observer, untilWaiting } = await openTen(t);
  const remover = await connect();
  await remover.query('begin; delete from deskbell.subscriptions where id = 3');
  const creating = store.broadcasts.create(madeUpBroadcast(Date.now()));
  await untilWaiting(1);
  await remover.query('commit');
  const { broadcast } = await creating;
  await acceptAll(store, origin);
  const { recipients, counts, alarms } = await store.broadcasts.get(broadcast.id);
  assert.deepEqual([recipients, counts.accepted, counts.unaccounted, alarms], [9, 9, 0, []]);
  await Promise.all([remover.end(), observer.end()]);
});

test('whoever removes while an audience is to be frozen gets on, whatever rows it holds already', async (t) => {
  const { store, connect, observer, untilWaiting } = await openTen(t);
  const [one, other] = [await connect(), await connect()];
  await one.query('begin; select from deskbell.subscriptions where id = 1 for update');
  // has the lock of registrations and removals, and waits for the row
  const deleting = other.query('delete from deskbell.subscriptions where id = 1');
  await untilWaiting(1);
  const creating = store.broadcasts.create(madeUpBroadcast(Date.now()));
  await untilWaiting(2);
  // waits behind the one who freezes
  await one.query('delete from deskbell.subscriptions where id = 2; commit');
  await deleting;
  const { broadcast } = await creating;
  await acceptAll(store, origin);
  const { recipients, counts } = await store.broadcasts.get(broadcast.id);
  assert.deepEqual([recipients, counts.accepted, counts.unaccounted], [8, 8, 0]);
  await Promise.all([one.end(), other.end(), observer.end()]);
});
