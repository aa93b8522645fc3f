// Has the functions of this version in the database, and drops those of versions that nobody has used for a long time. The
// comment of a schema says on which day (UTC) it was used last: each process renews it when it starts, and as it runs.
// Versions that do not know of this are counted from the day on which they are first seen.
import type { PostgresDatabase, Query } from '../database.ts';
import type { DatabaseFunctions } from './all-functions.ts';

/** How long processes of an older version may run beside newer ones without a restart. */
export const unusedFunctionsKeptDays = 30;

/** More often than the day changes. */
export const useFunctionsEveryMs = 6 * 60 * 60 * 1000;

const today = `to_char(clock_timestamp() at time zone 'UTC', '"last used "YYYY-MM-DD')`;

/** @returns whether they are there, and were used today */
export async function areInUse(query: Query, { schema }: DatabaseFunctions): Promise<boolean> {
  const [row] = await query<{ readonly is_current: boolean }>(
    `select obj_description(oid, 'pg_namespace') is not distinct from ${today}
       or not pg_has_role(nspowner, 'usage') as is_current
     from pg_namespace where nspname = $1`,
    [schema],
  );
  return row?.is_current ?? false;
}

/** Makes them where they are not there. To be called under the lock of migrations. */
export async function installFunctions(query: Query, { schema, sql }: DatabaseFunctions): Promise<void> {
  const [known] = await query('select from pg_namespace where nspname = $1', [schema]);
  if (known === undefined) await query(sql);
  await query(noteUse(schema));
}

/** Renews the note of their use, for a process that has been running for a while. */
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
 * Within a transaction: it does not wait longer for a lock, since others would wait behind it, and the snapshot of one that waits keeps
 * indexes from being built. Less than the second after which PostgreSQL looks for deadlocks.
 */
export const lockBriefly = 'set local lock_timeout = 500';

/** Until the transaction ends. Others go on reading the version. */
export async function lockMigrations(query: Query): Promise<void> {
  await query(lockBriefly);
  await query('lock table deskbell.schema_version in share row exclusive mode');
}

// another user's schemas can be neither commented nor dropped
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
