// Brings tables and functions of a database to the newest version, exactly once, even if many processes start at once.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseError } from 'pg';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import {
  checkVersion,
  migrationsAfter,
  newestVersion,
  unfinishedCopy,
  unfinishedCopyError,
  versionAfter,
} from '../database-content.ts';
import { codeOf } from './database-errors.ts';
import { describeFunctions, type DatabaseFunctions } from './functions/all-functions.ts';
import { areInUse, installFunctions, lockBriefly, lockMigrations } from './functions/use-functions.ts';
import { type Migration, migrations as allMigrations, type NewIndex, schema } from './migrations.ts';
import type { PostgresDatabase, Query } from './database.ts';

/** Migrating a large table takes a long time, and processes that start meanwhile wait for it. */
const maxMigrationMs = 24 * 60 * 60 * 1000;
const pauseMs = 1000;

/** Another session has locked a table that the migration changes, or is creating the first tables. */
class GaveWay extends Error {}

/**
 * Migrates a database. Each migration is a transaction of its own; indexes are built while others write. A migration
 * that does not get its locks at once gives way and is retried, without limit.
 *
 * @param migrations to apply after the schema
 * @param functions may change without a migration
 * @param onWarning called with the session that a migration waits for
 * @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD, ERR_COPY_UNFINISHED, ERR_STORE_CORRUPT if the tables
 *   belong to another program, ERR_STORE_UNAVAILABLE
 */
export async function migrate(
  database: PostgresDatabase,
  migrations: readonly Migration[] = allMigrations,
  functions = describeFunctions(newestVersion(migrations)),
  onWarning: (warning: string) => void = () => {},
): Promise<void> {
  const newest = newestVersion(migrations);
  // the usual case: no lock is needed to find that there is nothing to do
  const isDone = await database.transaction(async (query) => {
    const version = await readVersion(query, database.label, newest);
    return version === newest && (await areInUse(query, functions));
  });
  if (isDone) return;
  let told = '';
  const tell = (session: string | undefined): void => {
    if (session !== undefined && session !== told)
      onWarning(`The migration of the database ${database.label} waits for ${session}.`);
    told = session ?? '';
  };
  for (;;) {
    try {
      if (await migrateOnce(database, migrations, functions, tell)) return;
    } catch (error) {
      if (!(error instanceof GaveWay)) throw error;
      tell(await findSession(database.query, holdsTable));
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}

/** Reports the session that the migration waits for, if there is one. */
type Tell = (session: string | undefined) => void;

/**
 * @returns true if everything is done
 * @throws {GaveWay}
 */
const migrateOnce = (
  database: PostgresDatabase,
  migrations: readonly Migration[],
  functions: DatabaseFunctions,
  tell: Tell,
): Promise<boolean> =>
  database.transaction(
    (query) =>
      orGiveWay(async () => {
        await query(
          `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; ${lockBriefly}`,
        );
        const version = await lockVersion(query, database.label, newestVersion(migrations));
        const [next] = migrationsAfter<Migration>(version, schema, migrations);
        if (next === undefined) {
          await installFunctions(query, functions);
          return true;
        }
        if (typeof next === 'string') await query(next);
        // run no query in this transaction while the index is built: building it would wait for the transaction to end
        else await buildIndex(database, next, tell);
        await query('update deskbell.schema_version set version = $1', [versionAfter(version)]);
        return false;
      }, isLocked),
    maxMigrationMs,
  );

async function orGiveWay<Result>(
  work: () => Promise<Result>,
  isOthers: (error: unknown) => boolean,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw isOthers(error) ? new GaveWay('Another session is in the way.', { cause: error }) : error;
  }
}

/** True if a lock was not available, or there was a deadlock. */
const isLocked = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '');

/** True if another session has created the same schema, table or index, or has created anything at the same moment. */
const isMade = (error: unknown): boolean =>
  ['42P06', '42P07'].includes(codeOf(error) ?? '') ||
  (codeOf(error) === '23505' && (error as DatabaseError).constraint?.startsWith('pg_') === true);

/**
 * Builds an index, first on each partition. It waits for open transactions, but no transaction waits for it. A process
 * that ended early may have built part of it already.
 */
async function buildIndex(
  database: PostgresDatabase,
  { index, on, by }: NewIndex,
  tell: Tell,
): Promise<void> {
  await watched(database, tell, async (query) => {
    const briefly = (sql: string) => query(`${lockBriefly}; ${sql}`);
    const build = async (table: string, name: string): Promise<void> => {
      const [known] = await query<{ readonly indisvalid: boolean }>(
        'select indisvalid from pg_index where indexrelid = to_regclass($1)',
        [`deskbell.${name}`],
      );
      if (known?.indisvalid === true) return;
      // the server may still be building the index for a process that has died, and then the index cannot be dropped
      if (known !== undefined) await briefly(`drop index deskbell.${name}`);
      await query(`create index concurrently ${name} on deskbell.${table} ${by}`);
    };
    const partitions = await query<{ readonly table: string }>(
      `select relname as table from pg_inherits join pg_class c on c.oid = inhrelid
       where inhparent = to_regclass($1) order by c.oid`,
      [`deskbell.${on}`],
    );
    if (partitions.length === 0) return build(on, index);
    const parts = partitions.map(({ table }) => ({ table, name: table.replace(on, index) }));
    for (const { table, name } of parts) await build(table, name);
    await briefly(`create index if not exists ${index} on only deskbell.${on} ${by}`);
    for (const { name } of parts)
      await briefly(`alter index deskbell.${index} attach partition deskbell.${name}`);
  });
}

/** Runs statements on a separate connection, and reports the sessions that they wait for. */
const watched = (
  database: PostgresDatabase,
  tell: Tell,
  work: (query: Query) => Promise<void>,
): Promise<void> =>
  database.alone(
    (query) =>
      database.alone(async (watching) => {
        const [{ pid } = { pid: 0 }] = await query<{ readonly pid: number }>(
          'select pg_backend_pid() as pid',
        );
        const isInTheWay = `a.pid = any (pg_blocking_pids(${pid}))`;
        const look = (): void => void findSession(watching, isInTheWay).then(tell, () => {});
        const timer = setInterval(look, pauseMs);
        try {
          await work(query);
        } finally {
          clearInterval(timer);
        }
      }, maxMigrationMs),
    maxMigrationMs,
  );

/** Prevents other migrations until the transaction ends. @returns 0 if Deskbell has no tables yet @throws {GaveWay} */
async function lockVersion(query: Query, label: string, newest: number): Promise<number> {
  if ((await readVersion(query, label, newest)) === 0) {
    await createSchema(query, label);
    return 0;
  }
  await lockMigrations(query);
  return readVersion(query, label, newest);
}

/** A session `a` that has locked one of our tables. */
const holdsTable = `exists (
  select from pg_locks l join pg_class c on c.oid = l.relation and c.relnamespace = to_regnamespace('deskbell')
  where l.pid = a.pid and l.granted and l.database = (select oid from pg_database where datname = current_database()))`;

/** Finds the matching session with the oldest transaction. The server hides the times of other users' sessions. */
async function findSession(query: Query, condition: string): Promise<string | undefined> {
  const [session] = await query<{ pid: number; application: string; seconds: number | null }>(`
    select a.pid, a.application_name as application,
           extract(epoch from clock_timestamp() - a.xact_start)::int as seconds
    from pg_stat_activity a where a.pid <> pg_backend_pid() and ${condition}
    order by a.xact_start, a.pid limit 1`);
  if (session === undefined) return undefined;
  const { pid, application, seconds } = session;
  return `session ${pid} of the database ("${application}"${seconds === null ? '' : `, for ${seconds} s`})`;
}

/**
 * @param newest the version that this Deskbell knows
 * @returns 0 if there are no tables of ours
 * @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD, ERR_COPY_UNFINISHED
 */
export async function readVersion(
  query: Query,
  label: string,
  newest = newestVersion(allMigrations),
): Promise<number> {
  // query the catalogue, because PostgreSQL caches failed name look-ups until the transaction ends
  const known = await query<{ readonly relname: string }>(
    `${tablesOfOurs} and c.relname in ('schema_version', '${unfinishedCopy}')`,
  );
  if (known.length === 0) return 0;
  if (known.some(({ relname }) => relname === unfinishedCopy)) throw unfinishedCopyError(label);
  const [row] = await query<{ readonly version: number }>('select version from deskbell.schema_version');
  return checkVersion(row?.version ?? 0, newest, label);
}

const tablesOfOurs = `
  select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'deskbell'`;

/** @throws {GaveWay} if another process has created it at the same time */
async function createSchema(query: Query, label: string): Promise<void> {
  await orGiveWay(async () => {
    await query('create schema if not exists deskbell');
    await query('create table deskbell.schema_version (version int not null)');
  }, isMade);
  const [other] = await query(`${tablesOfOurs} and c.relname <> 'schema_version' limit 1`);
  if (other !== undefined) {
    throw new DeskbellError(
      'ERR_STORE_CORRUPT',
      `The database ${label} has a schema "deskbell" of another program.`,
    );
  }
  await query('insert into deskbell.schema_version (version) values (0)');
}
