// What it takes to know what came of each row of a broadcast: bytes in the database, with indexes, and how long one commit takes,
// for broadcasts that are accepted, mixed and refused by everybody. Rows are made up; nothing is sent.
import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Recipient } from '../src/store/broadcasts.ts';
import type { RowResult } from '../src/store/ledger.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { openSqliteStore } from '../src/store/sqlite/open-store.ts';
import type { Store } from '../src/store/store.ts';
import { madeUpBroadcast } from '../test/store/store-under-test.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer } from './postgres/database-server.ts';

const goals = { megabytesAllFail: 100 };
const leaseMs = 3_600_000;
/** As many rows as a page of a broadcast has. */
const acceptedRows = 1024;
const otherRows = 256;
/** PostgreSQL's slices have the rows of one partition. */
const partitions = 32;

/** Shares of subscriptions, as of a site with all browsers. */
const origins = [
  ...Array<string>(12).fill('https://fcm.googleapis.com'),
  ...Array<string>(4).fill('https://updates.push.services.mozilla.com'),
  ...Array<string>(3).fill('https://web.push.apple.com'),
  'https://wns2-db5p.notify.windows.com',
];

interface Kind {
  readonly name: string;
  readonly pageRows: number;
  resultOf(recipient: Recipient, random: number): RowResult;
}

const settled = (
  recipient: Recipient,
  result: 'accepted' | 'gone' | 'rejected',
  status: number,
  origin: string,
): RowResult => ({
  recipient,
  origin,
  attempts: 1,
  result,
  record: { atMs: Date.now(), attempt: 1, status },
});

const originOf = ({ position }: Recipient): string => origins[(position * 7919) % origins.length]!;

const kinds: readonly Kind[] = [
  {
    name: 'accepted, one push service',
    pageRows: acceptedRows,
    resultOf: (row) => settled(row, 'accepted', 201, origins[0]!),
  },
  {
    name: 'accepted, four push services',
    pageRows: acceptedRows,
    resultOf: (row) => settled(row, 'accepted', 201, originOf(row)),
  },
  {
    name: '94 % accepted, 4 % gone, 2 % refused, four push services',
    pageRows: otherRows,
    resultOf: (row, random) => {
      if (random < 0.94) return settled(row, 'accepted', 201, originOf(row));
      return random < 0.98
        ? settled(row, 'gone', 410, originOf(row))
        : settled(row, 'rejected', 400, originOf(row));
    },
  },
  {
    name: 'refused by everybody, four push services',
    pageRows: otherRows,
    resultOf: (row) => settled(row, 'rejected', 400, originOf(row)),
  },
];

/** A store, and what is behind its back. */
interface Opened {
  readonly store: Store;
  run(sql: string): Promise<void>;
  /** Of all that is known of rows. */
  bytes(): Promise<number>;
  readonly step: number;
}

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const rows = quick ? 100_000 : 1_000_000;
  const lines: string[][] = [];
  const measureAll = async (name: string, opened: Opened): Promise<void> => {
    for (const kind of kinds) {
      const { megabytes, ms } = await measure(opened, kind, rows);
      const perRow = ((megabytes * 1e6) / rows).toFixed(2);
      lines.push([`${name}: ${kind.name}`, megabytes.toFixed(1), perRow, ms.toFixed(2)]);
    }
  };
  await withSqlite((opened) => measureAll('SQLite', opened));
  await withPostgres((opened) => measureAll('PostgreSQL', opened));
  printTable(`What came of ${rows.toLocaleString('en')} rows`, [
    ['broadcast', 'MB', 'bytes a row', 'ms a commit'],
    ...lines,
    ['goal where all fail', `≤ ${goals.megabytesAllFail}`, '', ''],
  ]);
}

async function measure(
  { store, run, bytes, step }: Opened,
  { pageRows, resultOf }: Kind,
  rows: number,
): Promise<{ readonly megabytes: number; readonly ms: number }> {
  const before = await bytes();
  // an empty audience is done at once: this one gets a slice by hand for each partition
  const { id: broadcastId } = (await store.broadcasts.create(madeUpBroadcast(store.now()))).broadcast;
  await run(`update broadcasts set state = 'running', audience = ${rows} where id = ${broadcastId}`);
  let commits = 0;
  const startMs = performance.now();
  for (let number = 0; number < step; number += 1) {
    await run(`insert into slices (broadcast_id, number, cursor, through_position)
               values (${broadcastId}, ${number}, 0, ${2 * rows})`);
    const slice = await store.leases.leaseSlice({ leaseMs, broadcastId });
    if (slice === undefined) throw new Error('The slice is not there.');
    const ids: number[] = [];
    for (let id = 1; id <= rows; id += 1) if (partitionOf(id) % step === number) ids.push(id);
    let fromCursor = 0;
    for (let first = 0; first < ids.length; first += pageRows) {
      const page = ids.slice(first, first + pageRows).map(toRecipient);
      const cursor = page.at(-1)!.position;
      await store.ledger.commit({
        broadcastId,
        fenceToken: slice.fenceToken,
        slice: { number, fromCursor, cursor },
        rows: page.map((recipient) => resultOf(recipient, Math.random())),
        leaseMs,
      });
      fromCursor = cursor;
      commits += 1;
    }
  }
  const ms = (performance.now() - startMs) / commits;
  return { megabytes: ((await bytes()) - before) / 1e6, ms };
}

/** Spread as by the hash of endpoints. */
const partitionOf = (id: number): number => (Math.imul(id, 2_654_435_761) >>> 16) % partitions;

const toRecipient = (id: number): Recipient => ({
  position: id,
  subscriptionId: id,
  endpoint: `${origins[0]}/${id}`,
  p256dh: new Uint8Array(65),
  auth: new Uint8Array(16),
  vapidPublicKey: undefined,
  updatedAtMs: 0,
});

async function withSqlite(work: (opened: Opened) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-attempts-'));
  const path = join(folder, 'deskbell.db');
  const store = await openSqliteStore({ path });
  const use = <Result>(asked: (database: DatabaseSync) => Result): Result => {
    using database = new DatabaseSync(path);
    return asked(database);
  };
  try {
    await work({
      store,
      run: async (sql) => use((database) => database.exec(sql)),
      bytes: async () =>
        use((database) =>
          Number(
            database
              .prepare(
                `select sum(pgsize) as bytes from dbstat where name glob 'attempt_sets*' or name glob 'answer*'`,
              )
              .get()?.['bytes'],
          ),
        ),
      step: 1,
    });
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

async function withPostgres(work: (opened: Opened) => Promise<void>): Promise<void> {
  await withBenchServer(async (server) => {
    await server.withDatabase(async ({ url }) => {
      const store = await openPostgresStore({ url });
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query('set search_path to deskbell');
      const run = async (sql: string): Promise<void> => void (await client.query(sql));
      await work({
        store,
        run,
        bytes: async () => {
          const { rows } = await client.query<{ readonly bytes: string }>(
            `select pg_total_relation_size('attempt_sets') + pg_total_relation_size('answers')
               + pg_total_relation_size('answer_counts') as bytes`,
          );
          return Number(rows[0]?.bytes);
        },
        step: partitions,
      });
      await client.end();
      await store.close();
    });
  });
}
