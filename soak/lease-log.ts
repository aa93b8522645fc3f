// Who held which slice or row and when, written down by the database itself: triggers store each change of a lease with the
// name of the connection that made it.
import { Client } from 'pg';

export interface LeaseChange {
  readonly atMs: number;
  /** A slice, or a row that is stored by itself since its answer is awaited. */
  readonly what: string;
  /** The application name of whoever leased it; undefined: given back, or done. */
  readonly holder: string | undefined;
}

export async function startLeaseLog(url: string): Promise<void> {
  await ask(
    url,
    `create schema soak;
     create table soak.lease_changes (
       id bigint generated always as identity, at timestamptz not null default clock_timestamp(), what text not null,
       holder text);
     create function soak.log_lease() returns trigger language plpgsql as $$
     declare
       is_leased boolean := tg_op <> 'DELETE' and (to_jsonb(new) ->> 'token') is not null;
       changed jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
     begin
       insert into soak.lease_changes (what, holder) values (
         case tg_table_name when 'slices' then 'slice ' || (changed ->> 'number') else 'row ' || (changed ->> 'position') end,
         case when is_leased then current_setting('application_name') end);
       return null;
     end $$;
     create trigger log_lease after update on deskbell.slices for each row
       when (old.token is distinct from new.token) execute function soak.log_lease();
     create trigger log_end after delete on deskbell.slices for each row execute function soak.log_lease();
     create trigger log_lease after update on deskbell.retries for each row
       when (old.token is distinct from new.token) execute function soak.log_lease();
     create trigger log_begin_and_end after insert or delete on deskbell.retries
       for each row execute function soak.log_lease();`,
  );
}

/** In the order in which they were made. */
export async function readLeaseLog(url: string): Promise<readonly LeaseChange[]> {
  const rows = await ask<{ at_ms: number; what: string; holder: string | null }>(
    url,
    `select (extract(epoch from at) * 1000)::float8 as at_ms, what, holder from soak.lease_changes order by at, id`,
  );
  return rows.map(({ at_ms: atMs, what, holder }) => ({ atMs, what, holder: holder ?? undefined }));
}

export interface Takeover {
  readonly what: string;
  readonly from: string;
  /** After the moment since which its holder did no more; infinite where nobody took it. */
  readonly afterMs: number;
}

/** What came of the leases that `holder` had at this moment, without those that a commit still under way has ended. */
export function takeoversOf(log: readonly LeaseChange[], holder: string, atMs: number): readonly Takeover[] {
  const before = new Map<string, LeaseChange>();
  const next = new Map<string, LeaseChange>();
  for (const change of log) {
    if (change.atMs <= atMs) before.set(change.what, change);
    else if (!next.has(change.what)) next.set(change.what, change);
  }
  return [...before.values()]
    .filter((last) => last.holder === holder)
    .map(({ what }) => ({ what, from: holder, change: next.get(what) }))
    .filter(({ change }) => change === undefined || change.holder !== undefined)
    .map(({ what, from, change }) => ({
      what,
      from,
      afterMs: change === undefined ? Number.POSITIVE_INFINITY : change.atMs - atMs,
    }));
}

async function ask<Row extends object>(url: string, sql: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row & Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
