// A PostgreSQL database as the source or the target of a copy. No other process of Deskbell may be connected to it meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { migrate, readVersion } from '../postgres/migrate.ts';
import { migrations } from '../postgres/migrations.ts';
import { PostgresDatabase, type Query } from '../postgres/database.ts';
import { codeOf } from '../postgres/database-errors.ts';
import { checkServer } from '../postgres/preflight.ts';
import type { CopiedTable, CopyRow, CopyValue } from './copied-table.ts';
import { copiedTables, tablesToBeEmpty } from './copied-tables.ts';
import {
  pageRows,
  type CopySource,
  type CopyTarget,
  type Progress,
  type TableReader,
} from './source-and-target.ts';
import { listPartitionedAudiences } from './partitioned-audiences.ts';
import { fromOf, insertSql, nameOf, rowReader, selectSql } from './postgres-rows.ts';
import { assertSameSchema, notEmptyError, unfinishedCopy } from '../unfinished-copy.ts';

/** The whole of a large table may be sorted before its first row comes, and the other database may be slow. */
const statementTimeoutMs = 24 * 60 * 60 * 1000;
/** Connections that have just been closed, or whose process was killed, are gone by then. */
const defaultWaitForOthersMs = 5000;
const lockTimeoutMs = 2000;

export interface PostgresCopyOptions {
  readonly url: string;
  /** How long connections of other processes may take to go away. Default: 5000. */
  readonly waitForOthersMs?: number | undefined;
}

/** @throws {DeskbellError} ERR_COPY_SOURCE, ERR_STORE_IN_USE, and what opening the store throws */
export function openPostgresSource({ url, waitForOthersMs }: PostgresCopyOptions): Promise<CopySource> {
  // what has begun to be read cannot be read on by another connection
  return open({ url, retryForMs: 0 }, async (database) => {
    const version = await database.transaction((query) => readVersion(query, database.label));
    if (version === 0) {
      throw new DeskbellError('ERR_COPY_SOURCE', `The database ${database.label} has no tables of Deskbell`);
    }
    await migrate(database);
    await assertAlone(database, waitForOthersMs);
    return sourceOf(database, async (query) => {
      await lockAll(query, database.label);
      await assertNothingLeased(query, database.label);
    });
  });
}

/** @throws {DeskbellError} ERR_STORE_IN_USE, and what opening the store throws */
export function openPostgresTarget({ url, waitForOthersMs }: PostgresCopyOptions): Promise<CopyTarget> {
  return open({ url }, async (database) => {
    await migrate(database).catch((error: unknown) => {
      if (!(error instanceof DeskbellError && error.code === 'ERR_COPY_UNFINISHED')) throw error;
    });
    await assertAlone(database, waitForOthersMs);
    let known: Progress = {};
    return {
      ...sourceOf(database),
      begin: async (source) =>
        (known = await database.transaction((query) => begin(query, database, source))),
      write: async (table, rows, progress) => {
        const former = known;
        await database.transaction((query) => write(query, table, rows, { former, progress }));
        known = progress;
      },
      derive: () =>
        database.transaction(async (query) => {
          for (const { postgres } of copiedTables) if (postgres?.after) await query(postgres.after);
        }),
      complete: async () => {
        await database.query(`drop table if exists deskbell.${unfinishedCopy}`);
      },
    };
  });
}

async function open<End>(
  options: { readonly url: string; readonly retryForMs?: number },
  prepare: (database: PostgresDatabase) => Promise<End>,
): Promise<End> {
  const database = await PostgresDatabase.open({ ...options, maxConnections: 1, statementTimeoutMs });
  try {
    await checkServer(database, () => {}, { isPatient: false });
    return await prepare(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function sourceOf(
  database: PostgresDatabase,
  prepare: (query: Query) => Promise<void> = async () => {},
): CopySource {
  return {
    label: database.label,
    read: (work) =>
      database.transaction(async (query) => {
        await query('set transaction isolation level repeatable read');
        await prepare(query);
        await query(listPartitionedAudiences);
        return work(readerOf(query));
      }),
    close: () => database.close(),
  };
}

/** Processes that are connected, if only to look for work, would go on with what is copied. */
async function assertAlone(
  database: PostgresDatabase,
  waitForOthersMs = defaultWaitForOthersMs,
): Promise<void> {
  const endMs = performance.now() + waitForOthersMs;
  for (;;) {
    const others = await database.first<{ readonly count: number }>(`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'deskbell' and pid <> pg_backend_pid()`);
    const count = others?.count ?? 0;
    if (count === 0) return;
    if (performance.now() >= endMs) {
      throw new DeskbellError(
        'ERR_STORE_IN_USE',
        `The database ${database.label} is used by ${count} other connection${count === 1 ? '' : 's'} of Deskbell`,
      );
    }
    await sleep(50);
  }
}

/** Others can read, and write only when all is copied. */
async function lockAll(query: Query, label: string): Promise<void> {
  const tables = new Set(copiedTables.filter(({ postgres }) => postgres?.insert === undefined).map(nameOf));
  await query(`set local lock_timeout = ${lockTimeoutMs}`);
  try {
    await query(`lock table ${[...tables].join(', ')} in exclusive mode`);
  } catch (error) {
    if (codeOf(error) !== '55P03') throw error;
    throw new DeskbellError('ERR_STORE_IN_USE', `The database ${label} is written by another process`, {
      cause: error,
    });
  }
}

/** A worker that is cut off from the database, or was killed, may be sending what it has leased. */
async function assertNothingLeased(query: Query, label: string): Promise<void> {
  const [leased] = await query<{ readonly broadcast_id: number; readonly seconds: number }>(`
    select l.broadcast_id, ceil((max(l.until_ms) - n.now_ms) / 1000.0)::int as seconds
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms) n
    join (select broadcast_id, lease_until_ms as until_ms from deskbell.slices
          union all select broadcast_id, due_at_ms from deskbell.retries where token is not null) l on l.until_ms > n.now_ms
    group by l.broadcast_id, n.now_ms order by seconds desc limit 1`);
  if (leased === undefined) return;
  throw new DeskbellError(
    'ERR_STORE_IN_USE',
    `A worker has leased rows of broadcast ${leased.broadcast_id} in ${label} for ${leased.seconds} s: it may be sending, or ` +
      'was killed',
  );
}

const readerOf = (query: Query): TableReader => ({
  count: async (table) => {
    const [row] = await query<{ readonly rows: number }>(`select count(*) as rows from ${fromOf(table)}`);
    return row?.rows ?? 0;
  },
  pages: (table) => pagesOf(query, table),
});

async function* pagesOf(query: Query, table: CopiedTable): AsyncGenerator<readonly CopyRow[]> {
  await query(`declare copied no scroll cursor for ${selectSql(table)}`);
  const toRow = rowReader(table);
  for (;;) {
    const page = await query<Record<string, CopyValue>>(`fetch ${pageRows} from copied`);
    if (page.length > 0) yield page.map(toRow);
    if (page.length < pageRows) break;
  }
  await query('close copied');
}

async function begin(query: Query, { label }: PostgresDatabase, source: string): Promise<Progress> {
  const [known] = await query(`select from pg_tables where schemaname = 'deskbell' and tablename = $1`, [
    unfinishedCopy,
  ]);
  if (known !== undefined) {
    const [row] = await query<{
      readonly source: string;
      readonly schema_version: number;
      readonly progress: string;
    }>(`select source, schema_version, progress from deskbell.${unfinishedCopy}`);
    if (row === undefined) throw new Error('The mark of the copy has no row.');
    assertSameSchema(label, row.source, row.schema_version, migrations.length);
    return JSON.parse(row.progress) as Progress;
  }
  for (const table of tablesToBeEmpty('postgres')) {
    const [row] = await query(`select from deskbell.${table} limit 1`);
    if (row !== undefined) throw notEmptyError(label, table);
  }
  await query('delete from deskbell.vapid_keys');
  await query(
    `create table deskbell.${unfinishedCopy} (source text not null, schema_version int not null, progress text not null)`,
  );
  await query(
    `insert into deskbell.${unfinishedCopy} (source, schema_version, progress) values ($1, $2, '{}')`,
    [source, migrations.length],
  );
  return {};
}

async function write(
  query: Query,
  table: CopiedTable,
  rows: readonly CopyRow[],
  { former, progress }: { readonly former: Progress; readonly progress: Progress },
): Promise<void> {
  // where the answer to a commit was lost, it is not made again
  const [isNew] = await query(
    `update deskbell.${unfinishedCopy} set progress = $2 where progress = $1 returning source`,
    [JSON.stringify(former), JSON.stringify(progress)],
  );
  if (isNew === undefined) return;
  const { name, columns, postgres = {} } = table;
  if (progress[name]?.rows === rows.length && postgres.before !== undefined) await query(postgres.before);
  if (rows.length === 0) return;
  const names = Object.keys(columns);
  await query(
    insertSql(table),
    names.map((_, index) => rows.map((row) => row[index] ?? null)),
  );
}
