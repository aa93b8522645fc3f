// Keeps this version's functions in the database, and drops versions that have not been used for a long time. Each
// process writes the day (UTC) into the comment of its schema when it starts, and again while it runs. A version
// without this record counts as last used on the day on which it is first seen.
import type { PostgresDatabase, Query } from '../database.ts';
import type { DatabaseFunctions } from './all-functions.ts';

/** How long processes of an older version may run beside newer ones without a restart. */
export const unusedFunctionsKeptDays = 30;

/** How often a process records its use of the functions. Less than a day, because only the day is recorded. */
export const useFunctionsEveryMs = 6 * 60 * 60 * 1000;

const today = `to_char(clock_timestamp() at time zone 'UTC', '"last used "YYYY-MM-DD')`;

/** @returns whether the functions exist and have been used today */
export async function areInUse(query: Query, { schema }: DatabaseFunctions): Promise<boolean> {
  const [row] = await query<{ readonly is_current: boolean }>(
    `select obj_description(oid, 'pg_namespace') is not distinct from ${today}
       or not pg_has_role(nspowner, 'usage') as is_current
     from pg_namespace where nspname = $1`,
    [schema],
  );
  return row?.is_current ?? false;
}

/** Creates the functions if they do not exist. Must be called under the migration lock. */
export async function installFunctions(query: Query, { schema, sql }: DatabaseFunctions): Promise<void> {
  const [known] = await query('select from pg_namespace where nspname = $1', [schema]);
  if (known === undefined) await query(sql);
  await query(noteUse(schema));
}

/** Records that a long-running process still uses this version's functions. */
export async function keepFunctions(
  database: Pick<PostgresDatabase, 'transaction'>,
  functions: DatabaseFunctions,
): Promise<void> {
  await database.transaction(async (query) => {
    if (await areInUse(query, functions)) return;
    await lockMigrations(query);
    await query(noteUse(functions.schema));
  });
}

/**
 * Limits how long a transaction waits for a lock: others would queue behind it, and its snapshot would block building
 * indexes. The limit is below the second after which PostgreSQL looks for deadlocks.
 */
export const lockBriefly = 'set local lock_timeout = 500';

/** Locks migrations until the transaction ends. Others can still read the version. */
export async function lockMigrations(query: Query): Promise<void> {
  await query(lockBriefly);
  await query('lock table deskbell.schema_version in share row exclusive mode');
}

// schemas of another user can be neither commented on nor dropped
const noteUse = (schema: string): string => `
  do $$
  declare
    known record;
  begin
    for known in
      select n.nspname as name,
             to_date(substring(obj_description(n.oid, 'pg_namespace') from '^last used (\\d{4}-\\d\\d-\\d\\d)$'), 'YYYY-MM-DD') as used_on
      from pg_namespace n
      where n.nspname ~ '^deskbell_functions_\\d+(_[0-9a-f]+)?$' and pg_has_role(n.nspowner, 'usage')
    loop
      if known.name = '${schema}' or known.used_on is null then
        execute format('comment on schema %I is %L', known.name, ${today});
      elsif known.used_on < (clock_timestamp() at time zone 'UTC')::date - ${unusedFunctionsKeptDays} then
        execute format('drop schema %I cascade', known.name);
      end if;
    end loop;
  end $$`;
