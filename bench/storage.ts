// How many bytes a subscription takes in both databases, its table and each of its indexes, and how many partitions of PostgreSQL a
// registration asks, by index. Bytes and scans are counted: how busy the machine is does not matter. `--rows` sets how many there are.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { madeUpSubscription, vapidPublicKey } from '../test/store/made-up-subscription.ts';
import { readRows } from '../tools/postgres-client.ts';
import { seedSubscriptions } from './broadcast/seed.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer } from './postgres/database-server.ts';

const origin = 'https://push.example.net';
const registrations = 500;

interface Size {
  readonly name: string;
  readonly bytes: number;
}

export async function bench({
  quick,
  rows = quick ? 20_000 : 200_000,
}: {
  readonly quick: boolean;
  readonly rows: number | undefined;
}): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-storage-'));
  const inDatabase = await mkdtemp(join(tmpdir(), 'deskbell-storage-'));
  try {
    await seedSubscriptions(directory, origin, rows);
    printSizes('SQLite', rows, sizesOfSqlite(join(directory, 'deskbell.db')));
    await withBenchServer((server) =>
      server.withDatabase(async ({ url, settle }) => {
        await seedSubscriptions(inDatabase, origin, rows, url);
        await settle();
        printSizes('PostgreSQL', rows, await readRows<Size>(url, sizesOfPostgres));
        await printScans(url);
      }),
    );
  } finally {
    for (const folder of [directory, inDatabase]) await rm(folder, { recursive: true });
  }
}

function printSizes(database: string, rows: number, sizes: readonly Size[]): void {
  const bytes = sizes.map(({ bytes: size }) => Number(size) / rows);
  const together = bytes.reduce((sum, size) => sum + size, 0);
  printTable(`Bytes of each of ${rows.toLocaleString('en')} subscriptions in ${database}`, [
    ['table or index', 'bytes'],
    ...sizes.map(({ name }, index) => [name, bytes[index]!.toFixed(1)]),
    ['together', together.toFixed(1)],
  ]);
}

function sizesOfSqlite(path: string): readonly Size[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const sizes = database
    .prepare(
      `select s.name, sum(d.pgsize) as bytes from sqlite_schema s join dbstat d on d.name = s.name
       where s.tbl_name = 'subscriptions' group by s.name order by s.type = 'index', s.name`,
    )
    .all();
  return sizes as unknown as readonly Size[];
}

const indexesOfPostgres = `
  select p.relname as name, i.inhrelid as oid from pg_index x
  join pg_class p on p.oid = x.indexrelid join pg_inherits i on i.inhparent = p.oid
  where x.indrelid = 'deskbell.subscriptions'::regclass`;

const sizesOfPostgres = `
  select name, sum(pg_relation_size(oid)) as bytes from (
    select 'subscriptions' as name, inhrelid as oid from pg_inherits where inhparent = 'deskbell.subscriptions'::regclass
    union all ${indexesOfPostgres}) parts
  group by name order by name <> 'subscriptions', name`;

const scansOfPostgres = `
  select i.name, sum(s.idx_scan) as scans from (${indexesOfPostgres}) i
  join pg_stat_user_indexes s on s.indexrelid = i.oid group by i.name order by i.name`;

async function printScans(url: string): Promise<void> {
  const read = () => readRows<{ readonly name: string; readonly scans: string }>(url, scansOfPostgres);
  const before = await read();
  const store = await openPostgresStore({ url });
  // one at a time, as from browsers that come one after the other
  for (let index = 0; index < registrations; index += 1)
    await store.subscriptions.register({ subscription: madeUpSubscription(index), vapidPublicKey });
  // what a session has counted is read when it has ended
  await store.close();
  const after = await read();
  printTable('Partitions that the registration of a new endpoint asks in PostgreSQL', [
    ['index', 'partitions'],
    ...after.map(({ name, scans }, index) => [
      name,
      ((Number(scans) - Number(before[index]!.scans)) / registrations).toFixed(1),
    ]),
  ]);
}
