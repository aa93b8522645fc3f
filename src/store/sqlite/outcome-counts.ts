// Outcomes over time in SQLite, counted once per page of rows.
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { Broadcast, OriginCounts } from '../broadcasts.ts';
import {
  addColumns,
  allBroadcasts,
  broadcastInterval,
  listColumns,
  listParameters,
  outcomeWidths,
  totalWidthMs,
} from '../statistics.ts';
import type { SqliteDatabase } from './database.ts';

const addInterval = `
  insert into outcome_intervals as c (broadcast_id, width_ms, start_ms, push_service, ${listColumns})
  values (:broadcastId, :widthMs, :startMs, :pushService, ${listParameters})
  on conflict (broadcast_id, width_ms, start_ms, push_service, shard) do update set ${addColumns}`;

const prune = `
  delete from outcome_intervals
  where broadcast_id = ${allBroadcasts} and width_ms = :widthMs and start_ms < :beforeMs`;

/** @returns a function to call inside a transaction, which adds outcomes that occurred now */
export function createOutcomeCounts(database: SqliteDatabase) {
  const { fine, coarse } = outcomeWidths;
  let pruneAtMs = 0;

  const dropOld = (nowMs: number): void => {
    if (nowMs < pruneAtMs) return;
    pruneAtMs = nowMs + coarse.widthMs;
    for (const { widthMs, keptMs } of [fine, coarse])
      database.run(prune, { widthMs, beforeMs: nowMs - keptMs });
  };

  return ({ origin, ...counts }: OriginCounts, broadcast?: Pick<Broadcast, 'id' | 'startAtMs'>): void => {
    const nowMs = database.now();
    dropOld(nowMs);
    const intervals = [
      { broadcastId: allBroadcasts, widthMs: totalWidthMs, startMs: 0 },
      ...[fine, coarse].map(({ widthMs }) => ({
        broadcastId: allBroadcasts,
        widthMs,
        startMs: nowMs - (nowMs % widthMs),
      })),
    ];
    if (broadcast !== undefined)
      intervals.push({ broadcastId: broadcast.id, ...broadcastInterval(broadcast.startAtMs, nowMs) });
    const pushService = pushServiceName(origin);
    for (const interval of intervals) database.run(addInterval, { ...counts, ...interval, pushService });
  };
}
