// A PostgreSQL database as the source or the target of a copy. No other process of Deskbell may be connected to it meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { countOf } from '../../errors/format-count.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { migrate, readVersion } from '../postgres/migrate.ts';
import { migrations } from '../postgres/migrations.ts';
import { PostgresDatabase, type Query } from '../postgres/database.ts';
import { codeOf } from '../postgres/database-errors.ts';
import { checkServer } from '../postgres/preflight.ts';
import { runWith } from '../postgres/portable-database.ts';
import { addedColumns, columnsOf, postgresColumns, tableIn, type CopiedTable } from './copied-table.ts';
import { copiedTables } from './copied-tables.ts';
import {
  pageRows,
  toSource,
  toTarget,
  type CopyDatabase,
  type CopySource,
  type CopyTarget,
  type CopyTransaction,
} from './copy-database.ts';
import { listPartitionedAudiences } from './partitioned-audiences.ts';

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
    const lock = async (query: Query): Promise<void> => {
      await lockAll(query, database.label);
      await assertNothingLeased(query, database.label);
    };
    return toSource(toCopyDatabase(database, lock));
  });
}

/** @throws {DeskbellError} ERR_STORE_IN_USE, and what opening the store throws */
export function openPostgresTarget({ url, waitForOthersMs }: PostgresCopyOptions): Promise<CopyTarget> {
  return open({ url }, async (database) => {
    await migrate(database).catch((error: unknown) => {
      if (!(error instanceof DeskbellError && error.code === 'ERR_COPY_UNFINISHED')) throw error;
    });
    await assertAlone(database, waitForOthersMs);
    return toTarget(toCopyDatabase(database));
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

/** @param lock is run before anything is read */
function toCopyDatabase(
  database: PostgresDatabase,
  lock: (query: Query) => Promise<void> = async () => {},
): CopyDatabase {
  return {
    kind: 'postgres',
    label: database.label,
    schemaVersion: migrations.length,
    findTable: `select 1 from pg_tables where schemaname = 'deskbell' and tablename = :name`,
    transaction: (work) => database.transaction((query) => work(transactionOf(query))),
    read: (work) =>
      database.transaction(async (query) => {
        await query('set transaction isolation level repeatable read');
        await lock(query);
        await query(listPartitionedAudiences);
        return work(transactionOf(query));
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
        `The database ${database.label} is used by ${countOf(count, 'other connection')} of Deskbell`,
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
    -- a slice that nobody has leased waits for the time of its readers
    join (select broadcast_id, lease_until_ms as until_ms from deskbell.slices where token is not null
          union all select broadcast_id, due_at_ms from deskbell.retries where token is not null) l on l.until_ms > n.now_ms
    group by l.broadcast_id, n.now_ms order by seconds desc limit 1`);
  if (leased === undefined) return;
  throw new DeskbellError(
    'ERR_STORE_IN_USE',
    `A worker has leased rows of broadcast ${leased.broadcast_id} in ${label} for ${leased.seconds} s: it may be sending, or ` +
      'was killed',
  );
}

const nameOf = (table: CopiedTable): string => `deskbell.${tableIn('postgres', table)}`;

const transactionOf = (query: Query): CopyTransaction => ({
  run: (sql, values = {}) => runWith(query, { sql, values }),
  pages: async function* (sql) {
    await query(`declare copied no scroll cursor for ${sql}`);
    for (;;) {
      const page = await query<Record<string, unknown>>(`fetch ${pageRows} from copied`);
      if (page.length > 0) yield page;
      if (page.length < pageRows) break;
    }
    await query('close copied');
  },
  insert: async (table, rows) => {
    const names = columnsOf(table);
    const given = `unnest(${names.map((_, index) => `$${index + 1}::text[]`).join(', ')}) as r (${quoted(names)})`;
    const insert = table.postgres?.insert ?? (await insertSql(query, table));
    await query(
      `${insert} from ${given}`,
      names.map((_, index) => rows.map((row) => row[index] ?? null)),
    );
  },
});

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** Casts the texts of `r` to the types that the columns have. */
async function insertSql(query: Query, table: CopiedTable): Promise<string> {
  const types = await query<{ readonly name: string; readonly type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0`,
    [nameOf(table)],
  );
  const typeOf = new Map(types.map(({ name, type }) => [name, type]));
  const columns = postgresColumns(table);
  const values = Array.from(
    columns,
    ([name, column]) => table.postgres?.write?.[name] ?? `r."${name}"::${typeOf.get(column)}`,
  );
  const added = addedColumns(table);
  return `insert into ${nameOf(table)} (${quoted([...columns.values(), ...Object.keys(added)])}) overriding system value
    select ${[...values, ...Object.values(added)].join(', ')}`;
}
