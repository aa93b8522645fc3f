// While a snapshot is held for long, as by a report or a backup, PostgreSQL keeps every version of every row, and indexes go on
// leading to them. Leases and commits cost about the same after 2,500 slices; what they cost are pages, not time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { addSubscriptions, madeUpBroadcast } from './store-under-test.ts';

const getServer = useSharedServer();

const rows = 2900;
const slicesDone = 2500;
const leaseMs = 10_000;
const nowMs = 1_800_000_000_000;

test('with an old snapshot held, leases and commits cost at most twice as much after 2,500 slices', async (t) => {
  const database = await (await getServer()).createDatabase();
  const store = await openPostgresStore({ url: database.url, now: () => nowMs });
  const client = new Client({ connectionString: database.url });
  const reader = new Client({ connectionString: database.url });
  await Promise.all([client.connect(), reader.connect()]);
  t.after(async () => {
    await Promise.all([client.end(), reader.end(), store.close()]);
    await database.remove();
  });
  await addSubscriptions(store, rows);
  const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 1 }));
  const { id } = broadcast;
  const {
    rows: [found],
  } = await client.query<{ schema: string }>(
    `select nspname as schema from pg_namespace where nspname like 'deskbell\\_functions%'`,
  );
  assert.ok(found);
  const { schema } = found;
  await client.query(`set search_path to ${schema}, deskbell`);

  const lease = `select * from lease_slice(${nowMs}, ${leaseMs}, 'counted', 0, true)`;
  const commitOf = (slice: string, from: string, through: string, token: string): string => `
    commit_page(${nowMs}, ${id}, ${token}, ${leaseMs}, gen_random_uuid(), ${slice}, ${from}, ${through}, null,
      '{https://fcm.googleapis.com}', '{FCM}', array[${through}], '{1}', '{accepted}', '{1}', '{true}', '[]', '[]', '{}', '{}', '[]',
      '[]', '[]', '{}', '[]')`;
  /** Leases and commits so many slices, each by a worker of its own. */
  const deliver = (count: number) =>
    client.query(`do $$
      declare
        leased record;
        worker text;
      begin
        for number in 1..${count} loop
          worker := 'worker ' || number;
          select * into leased from lease_slice(${nowMs}, ${leaseMs}, worker, 0, true);
          commit;
          perform ${commitOf('leased.number', 'leased.cursor', 'leased.through_position', 'worker')};
          commit;
        end loop;
      end $$`);

  const pagesOf = async (sql: string): Promise<number> => {
    const plan = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Record<string, number> }[] }>(
      `explain (analyze, buffers, timing off, format json) ${sql}`,
    );
    const root = plan.rows[0]!['QUERY PLAN'][0]!.Plan;
    return root['Shared Hit Blocks']! + root['Shared Read Blocks']!;
  };
  /** All of it is taken back. */
  const count = async (): Promise<Readonly<Record<string, number>>> => {
    await client.query('begin');
    const pages = {
      due_in: await pagesOf(`select due_in(${nowMs}, 0)`),
      lease_retries: await pagesOf(`select * from lease_retries(${nowMs}, ${leaseMs}, 'x', 10, 0)`),
      lease_slice: await pagesOf(lease),
    };
    const { rows: leased } = await client.query<{ number: number; cursor: string; through: string }>(
      `select number, cursor::text, through_position::text as through from slices where token = 'counted'`,
    );
    const [slice] = leased;
    assert.ok(slice);
    const commit = commitOf(String(slice.number), slice.cursor, slice.through, `'counted'`);
    const all = { ...pages, commit_page: await pagesOf(`select ${commit}`) };
    await client.query('rollback');
    return all;
  };

  // there are none, which the store notes
  await client.query(`select * from lease_retries(${nowMs}, ${leaseMs}, 'x', 10, 0)`);
  await deliver(200);
  await client.query('vacuum analyze');
  for (let round = 0; round < 6; round += 1) await count();
  const before = await count();
  await reader.query('begin isolation level repeatable read');
  await reader.query('select count(*) from deskbell.slices');
  await deliver(slicesDone);
  const after = await count();
  const grown = Object.keys(after).filter((name) => after[name]! > 2 * before[name]!);
  assert.deepEqual(grown, [], `${JSON.stringify(before)} → ${JSON.stringify(after)}`);
});
