// Brings the tables and functions of a database to the newest version, once, however many processes begin at the same time.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { checkVersion, newestVersion, sqlAfter } from '../schema-version.ts';
import { unfinishedCopyError, unfinishedCopy } from '../unfinished-copy.ts';
import { describeFunctions } from './functions/all-functions.ts';
import { areInUse, installFunctions, lockMigrations } from './functions/use-functions.ts';
import { migrations as allMigrations, schema } from './migrations.ts';
import type { PostgresDatabase, Query } from './database.ts';

/** A migration of a large table takes long, and so do those wait who begin meanwhile. */
const maxMigrationMs = 24 * 60 * 60 * 1000;

/**
 * @param migrations after the schema
 * @param functions may change without a migration
 * @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD, ERR_COPY_UNFINISHED, ERR_STORE_CORRUPT where the tables are another program's, ERR_STORE_UNAVAILABLE
 */
export async function migrate(
  database: PostgresDatabase,
  migrations: readonly string[] = allMigrations,
  functions = describeFunctions(newestVersion(migrations)),
): Promise<void> {
  const newest = newestVersion(migrations);
  // as almost always: no lock is needed to see that there is nothing to do
  const isDone = await database.transaction(async (query) => {
    const version = await readVersion(query, database.label, newest);
    return version === newest && (await areInUse(query, functions));
  });
  if (isDone) return;
  await database.transaction(async (query) => {
    await query('set local statement_timeout = 0');
    await lockMigrations(query);
    const version = await readVersion(query, database.label, newest);
    if (version === 0) await createSchema(query, database.label);
    for (const sql of sqlAfter(version, schema, migrations)) await query(sql);
    await installFunctions(query, functions);
    if (version < newest) await query('update deskbell.schema_version set version = $1', [newest]);
  }, maxMigrationMs);
}

/**
 * @param newest the version that this Deskbell knows
 * @returns 0 where nothing of ours is there
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

async function createSchema(query: Query, label: string): Promise<void> {
  const [other] = await query(`${tablesOfOurs} limit 1`);
  if (other !== undefined) {
    throw new DeskbellError(
      'ERR_STORE_CORRUPT',
      `The database ${label} has a schema "deskbell" of another program.`,
    );
  }
  await query('create schema if not exists deskbell');
  await query('create table deskbell.schema_version (version int not null)');
  await query('insert into deskbell.schema_version (version) values (0)');
}
