// Brings the tables and functions of a database to the newest version, once, however many processes begin at the same time.
import { setTimeout as sleep } from 'node:timers/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import {
  checkVersion,
  newestVersion,
  sqlAfter,
  unfinishedCopy,
  unfinishedCopyError,
  versionAfter,
} from '../database-content.ts';
import { codeOf } from './database-errors.ts';
import { describeFunctions, type DatabaseFunctions } from './functions/all-functions.ts';
import { areInUse, installFunctions, lockMigrations } from './functions/use-functions.ts';
import { migrations as allMigrations, schema } from './migrations.ts';
import type { PostgresDatabase, Query } from './database.ts';

/** A migration of a large table takes long, and so do those wait who begin meanwhile. */
const maxMigrationMs = 24 * 60 * 60 * 1000;
/** How long others wait for a migration that waits for a table: before PostgreSQL looks for deadlocks, which it does after a second. */
const lockTimeoutMs = 500;
const pauseMs = 1000;

/** Another session has locked a table that the migration changes, or makes the first tables. */
class GaveWay extends Error {}

/**
 * Each migration is a transaction of its own. One that does not get its locks at once gives way and is tried again, without end.
 *
 * @param migrations after the schema
 * @param functions may change without a migration
 * @param onWarning called with the session that a migration waits for
 * @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD, ERR_COPY_UNFINISHED, ERR_STORE_CORRUPT if the tables are another program's, ERR_STORE_UNAVAILABLE
 */
export async function migrate(
  database: PostgresDatabase,
  migrations: readonly string[] = allMigrations,
  functions = describeFunctions(newestVersion(migrations)),
  onWarning: (warning: string) => void = () => {},
): Promise<void> {
  const newest = newestVersion(migrations);
  // as almost always: no lock is needed to see that there is nothing to do
  const isDone = await database.transaction(async (query) => {
    const version = await readVersion(query, database.label, newest);
    return version === newest && (await areInUse(query, functions));
  });
  if (isDone) return;
  let told = '';
  for (;;) {
    try {
      if (await migrateOnce(database, migrations, functions)) return;
    } catch (error) {
      if (!(error instanceof GaveWay)) throw error;
      const session = await findBlocker(database);
      if (session !== undefined && session !== told)
        onWarning(`The migration of the database ${database.label} waits for ${session}.`);
      told = session ?? '';
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}

/** @returns whether all is done @throws {GaveWay} */
const migrateOnce = (
  database: PostgresDatabase,
  migrations: readonly string[],
  functions: DatabaseFunctions,
): Promise<boolean> =>
  database.transaction(async (query) => {
    await query('set local statement_timeout = 0');
    const version = await lockVersion(query, database.label, newestVersion(migrations));
    const [next] = sqlAfter(version, schema, migrations);
    if (next === undefined) {
      await installFunctions(query, functions);
      return true;
    }
    await query(`set local lock_timeout = ${lockTimeoutMs}`);
    try {
      await query(next);
    } catch (error) {
      throw isLocked(codeOf(error)) ? new GaveWay('A table is locked.', { cause: error }) : error;
    }
    await query('update deskbell.schema_version set version = $1', [versionAfter(version)]);
    return false;
  }, maxMigrationMs);

/** Nobody else migrates until the transaction ends. @returns 0 if nothing of ours was there @throws {GaveWay} */
async function lockVersion(query: Query, label: string, newest: number): Promise<number> {
  if ((await readVersion(query, label, newest)) === 0) {
    await createSchema(query, label);
    return 0;
  }
  await lockMigrations(query);
  return readVersion(query, label, newest);
}

/** A lock that is not available, or a deadlock. */
const isLocked = (code: string | undefined): boolean => code === '55P03' || code === '40P01';

/** The session with the oldest transaction that has locked a table. Times of other users' sessions are hidden. */
async function findBlocker(database: PostgresDatabase): Promise<string | undefined> {
  const session = await database.first<{ pid: number; application: string; seconds: number | null }>(`
    select a.pid, a.application_name as application,
           extract(epoch from clock_timestamp() - a.xact_start)::int as seconds
    from pg_locks l
    join pg_class c on c.oid = l.relation and c.relnamespace = 'deskbell'::regnamespace
    join pg_stat_activity a on a.pid = l.pid
    where l.granted and a.pid <> pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
    order by a.xact_start, a.pid limit 1`);
  if (session === undefined) return undefined;
  const { pid, application, seconds } = session;
  return `session ${pid} of the database ("${application}"${seconds === null ? '' : `, for ${seconds} s`})`;
}

/**
 * @param newest the version that this Deskbell knows
 * @returns 0 if nothing of ours is there
 * @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD, ERR_COPY_UNFINISHED
 */
export async function readVersion(
  query: Query,
  label: string,
  newest = newestVersion(allMigrations),
): Promise<number> {
  // asked of the table itself: names that were looked up in vain are remembered until a transaction ends
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

/** @throws {GaveWay} if somebody else has made it at the same time */
async function createSchema(query: Query, label: string): Promise<void> {
  try {
    await query('create schema if not exists deskbell');
    await query('create table deskbell.schema_version (version int not null)');
  } catch (error) {
    throw exists(codeOf(error)) ? new GaveWay('The schema is there.', { cause: error }) : error;
  }
  const [other] = await query(`${tablesOfOurs} and c.relname <> 'schema_version' limit 1`);
  if (other !== undefined) {
    throw new DeskbellError(
      'ERR_STORE_CORRUPT',
      `The database ${label} has a schema "deskbell" of another program.`,
    );
  }
  await query('insert into deskbell.schema_version (version) values (0)');
}

/** A schema or table of that name; the third is what PostgreSQL says if both are made at once. */
const exists = (code: string | undefined): boolean =>
  code === '42P06' || code === '42P07' || code === '23505';
