// Ends broadcasts. Decides whether to delete the subscriptions that a broadcast marked as gone, and raises its alarms.
import { countsDifferDetail, countsDifferReason, type Alarm } from './broadcasts.ts';
import { dropUncounted, judgeMarks } from './deletion-guard.ts';
import { heldDeletionsDetail, heldDeletionsReason } from './held-deletions.ts';
import { mergeIntervals, settledRows } from './statistics.ts';
import { run, type PortableDatabase, type Work } from './portable-sql.ts';

/** Raises an alarm, or adds rows to one that the broadcast already has. @returns the alarm if it is new */
export function* raiseAlarm(
  database: PortableDatabase,
  broadcastId: number,
  alarm: Omit<Alarm, 'firstAtMs'>,
): Work<readonly Alarm[]> {
  const raised = { ...alarm, firstAtMs: database.now() };
  const [stored] = yield* run<{ readonly all_rows: number }>(
    `insert into deskbell.alarms as a (broadcast_id, origin, reason, detail, first_at_ms, rows)
     values (:broadcastId, :origin, :reason, :detail, :firstAtMs, :rows)
     on conflict (broadcast_id, origin, reason) do update set rows = a.rows + excluded.rows
     returning rows as all_rows`,
    { broadcastId, ...raised },
  );
  return stored!.all_rows === alarm.rows ? [raised] : [];
}

/** Decides which subscriptions of these push services to delete as gone (`judgeMarks`). @returns new alarms */
export function* judgePages(
  database: PortableDatabase,
  broadcastId: number,
  origins: readonly string[],
  after: 'pages' | 'over' = 'pages',
): Work<readonly Alarm[]> {
  const alarms: Alarm[] = [];
  // always use the same order, to prevent deadlocks
  for (const origin of origins.toSorted()) {
    const rows = yield* judgeMarks(database, origin, after);
    if (rows === 0) continue;
    const alarm = { origin, reason: heldDeletionsReason, detail: heldDeletionsDetail(origin), rows };
    alarms.push(...(yield* raiseAlarm(database, broadcastId, alarm)));
  }
  return alarms;
}

/** Decides, at a broadcast's end, which of its marked subscriptions to delete as gone. @returns new alarms */
export function* judgeBroadcast(database: PortableDatabase, broadcastId: number): Work<readonly Alarm[]> {
  const origins = 'select origin from deskbell.origin_counts where broadcast_id = :broadcastId';
  const guarded = yield* run<{ readonly origin: string }>(
    `select origin from deskbell.deletion_guards where origin in (${origins})`,
    { broadcastId },
  );
  const judged = guarded.map(({ origin }) => origin);
  const alarms = yield* judgePages(database, broadcastId, judged, 'over');
  yield* dropUncounted(database, origins, { broadcastId });
  return alarms;
}

/**
 * SQL that is true if an open broadcast `b` can end: nothing is left to send, or the broadcast is running and all
 * remaining rows are `dormant`. Slices are searched from the last one, which is leased last.
 */
export const mayEnd = `case
  when (select number from deskbell.slices where broadcast_id = b.id order by number desc limit 1) is not null then false
  when not exists (select 1 from deskbell.retries where broadcast_id = b.id) then true
  else b.state = 'running' and b.finished_at_ms is null
    and coalesce((select sum(rows) from deskbell.waiting_rows where broadcast_id = b.id and push_service_id > -2), 0) = 0 end`;

/**
 * Ends the broadcast if nothing is left to send, or if only `dormant` rows are left. With `dormant` rows, it stays
 * stored as running, with the time of its end. Returns new alarms; `undefined` if the broadcast does not end now.
 */
export function* finishIfOver(
  database: PortableDatabase,
  broadcastId: number,
): Work<readonly Alarm[] | undefined> {
  const isOpen = `b.id = :broadcastId and b.state in ('running', 'paused')`;
  // if two workers want to end a broadcast, the second waits here and then sees that it has ended
  const [open] = yield* run<{ readonly finished_at_ms: number | null }>(
    `select b.finished_at_ms from deskbell.broadcasts b where ${isOpen} ${database.forUpdate}`,
    { broadcastId },
  );
  if (open === undefined) return undefined;
  const [finished] = yield* run<{ readonly missing: number }>(
    `update deskbell.broadcasts as b set
       state = case when exists (select 1 from deskbell.retries where broadcast_id = b.id) then b.state else 'done' end,
       finished_at_ms = coalesce(b.finished_at_ms, :nowMs)
     where ${isOpen} and ${mayEnd}
     returning audience
       - coalesce((select sum(${settledRows}) from deskbell.origin_counts where broadcast_id = :broadcastId), 0)
       - coalesce((select sum(rows) from deskbell.removed_rows where broadcast_id = :broadcastId), 0) as missing`,
    { broadcastId, nowMs: database.now() },
  );
  if (finished === undefined) return undefined;
  if (open.finished_at_ms !== null) return [];
  yield* mergeIntervals(broadcastId, database.now());
  const alarms: Alarm[] = [];
  if (finished.missing !== 0) {
    const rows = Math.abs(finished.missing);
    const alarm = { origin: '', reason: countsDifferReason, detail: countsDifferDetail, rows };
    alarms.push(...(yield* raiseAlarm(database, broadcastId, alarm)));
  }
  return [...alarms, ...(yield* judgeBroadcast(database, broadcastId))];
}

/** Counts rows whose subscription was removed before their turn. */
export function* addRemoved(broadcastId: number, rows = 1): Work<void> {
  if (rows === 0) return;
  yield* run(
    `insert into deskbell.removed_rows as c (broadcast_id, shard, rows) values (:broadcastId, 0, :rows)
     on conflict (broadcast_id, shard) do update set rows = c.rows + excluded.rows`,
    { broadcastId, rows },
  );
}
