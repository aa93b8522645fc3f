// When a broadcast is over: nothing of it is left to do, or it was cancelled. What its push services
// called gone is judged then.
import { countsDifferDetail, countsDifferReason } from '../broadcasts.ts';
import { settledRows } from '../outcome-columns.ts';
import { createAlarms, heldDeletionsAlarm, type RaisedAlarm } from './alarms.ts';
import { createDeletionGuard } from './deletion-guard.ts';
import type { SqliteDatabase } from './database.ts';

/** Everything here is to be called inside a transaction. */
export interface BroadcastFinisher {
  /** Finishes the broadcast where no slice and no retry is left. @returns alarms that it has raised */
  ifOver(broadcastId: number, nowMs: number): readonly RaisedAlarm[];
  /** Judges what was marked. @returns alarms that it has raised */
  decideMarks(broadcastId: number): readonly RaisedAlarm[];
}

export function createBroadcastFinisher(database: SqliteDatabase): BroadcastFinisher {
  const marks = createDeletionGuard(database);
  const raiseAlarm = createAlarms(database);
  const finishIfOver = database.prepare<{ broadcastId: number; nowMs: number }, { missing: number }>(`
      update broadcasts set state = 'done', finished_at_ms = :nowMs
      where id = :broadcastId and state in ('running', 'paused')
        and not exists (select 1 from slices s where s.broadcast_id = broadcasts.id)
        and not exists (select 1 from retries r where r.broadcast_id = broadcasts.id)
      returning audience
        - coalesce((select sum(${settledRows}) from origin_counts where broadcast_id = :broadcastId), 0)
        - coalesce((select sum(rows) from removed_rows where broadcast_id = :broadcastId), 0) as missing
    `);
  const findOrigins = database.prepare<{ broadcastId: number }, { origin: string }>(
    'select origin from origin_counts where broadcast_id = :broadcastId',
  );

  const decideMarks = (broadcastId: number): readonly RaisedAlarm[] =>
    findOrigins.all({ broadcastId }).flatMap(({ origin }) => {
      const held = marks.decideAll(origin);
      if (held === 0) return [];
      const alarm = heldDeletionsAlarm(origin, held);
      return raiseAlarm(broadcastId, alarm) ? [alarm] : [];
    });

  return {
    decideMarks,
    ifOver: (broadcastId, nowMs) => {
      const finished = finishIfOver.first({ broadcastId, nowMs });
      if (finished === undefined) return [];
      const decided = decideMarks(broadcastId);
      if (finished.missing === 0) return decided;
      const alarm = {
        origin: '',
        reason: countsDifferReason,
        detail: countsDifferDetail,
        rows: Math.abs(finished.missing),
      };
      return raiseAlarm(broadcastId, alarm) ? [alarm, ...decided] : decided;
    },
  };
}
