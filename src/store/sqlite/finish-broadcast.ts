// When a broadcast is over: nothing of it is left to do, its time has run out, or it was cancelled. What its push services
// called gone is judged then.
import { settledRows } from '../outcome-columns.ts';
import { createAlarms, heldDeletionsAlarm, type RaisedAlarm } from './alarms.ts';
import { createDeletionGuard } from './deletion-guard.ts';
import type { SqliteDatabase } from './database.ts';

/** Everything here is to be called inside a transaction. */
export interface BroadcastFinisher {
  /** Finishes the broadcast where no slice and no retry is left. @returns alarms that it has raised */
  ifOver(broadcastId: number, nowMs: number): readonly RaisedAlarm[];
  /** Finishes the broadcasts that have outlived their message and that no worker holds anything of: what has no
   *  outcome is expired. */
  overdue(nowMs: number): void;
  /** Judges what was marked. @returns alarms that it has raised */
  decideMarks(broadcastId: number): readonly RaisedAlarm[];
}

export function createBroadcastFinisher(database: SqliteDatabase): BroadcastFinisher {
  const marks = createDeletionGuard(database);
  const alarms = createAlarms(database);
  const finishIfOver = database.prepare<{ broadcastId: number; nowMs: number }>(`
      update broadcasts set state = 'done', finished_at_ms = :nowMs
      where id = :broadcastId and state in ('running', 'paused')
        and not exists (select 1 from slices s where s.broadcast_id = broadcasts.id)
        and not exists (select 1 from retries r where r.broadcast_id = broadcasts.id)
    `);
  const findOverdue = database.prepare<{ nowMs: number }, { id: number }>(`
      select b.id from broadcasts b
      where b.state = 'running' and b.expires_at_ms <= :nowMs
        and not exists (select 1 from slices s
                        where s.broadcast_id = b.id and s.lease_until_ms > :nowMs)
        and not exists (select 1 from retries r
                        where r.broadcast_id = b.id and r.token is not null and r.due_at_ms > :nowMs)
    `);
  const expire = database.prepare<{ broadcastId: number; nowMs: number }>(`
      update broadcasts set state = 'done', finished_at_ms = :nowMs,
        expired_unread = audience - coalesce((
          select sum(${settledRows})
          from broadcast_origins o where o.broadcast_id = broadcasts.id), 0)
      where id = :broadcastId
    `);
  const dropSlices = database.prepare<{ broadcastId: number }>(
    'delete from slices where broadcast_id = :broadcastId',
  );
  const dropRetries = database.prepare<{ broadcastId: number }>(
    'delete from retries where broadcast_id = :broadcastId',
  );

  const findOrigins = database.prepare<{ broadcastId: number }, { origin: string }>(
    'select origin from broadcast_origins where broadcast_id = :broadcastId',
  );

  const decideMarks = (broadcastId: number): readonly RaisedAlarm[] =>
    findOrigins.all({ broadcastId }).flatMap(({ origin }) => {
      const held = marks.decideAll(origin);
      if (held === 0) return [];
      const alarm = heldDeletionsAlarm(origin, held);
      return alarms.raise(broadcastId, alarm) ? [alarm] : [];
    });

  return {
    decideMarks: decideMarks,
    ifOver: (broadcastId, nowMs) =>
      finishIfOver.run({ broadcastId, nowMs }) > 0 ? decideMarks(broadcastId) : [],
    overdue: (nowMs) => {
      for (const { id: broadcastId } of findOverdue.all({ nowMs })) {
        expire.run({ broadcastId, nowMs });
        dropSlices.run({ broadcastId });
        dropRetries.run({ broadcastId });
        decideMarks(broadcastId);
      }
    },
  };
}
