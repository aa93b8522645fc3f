// Outcomes over time in SQLite, counted once per page of rows.
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { OriginCounts } from '../broadcasts.ts';
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

/** Call these functions inside a transaction. */
export interface OutcomeCounts {
  add(counts: OriginCounts): void;
  /** Like `add`, for messages of a broadcast. */
  addToBroadcast(broadcast: { readonly id: number; readonly startAtMs: number }, counts: OriginCounts): void;
}

const addInterval = `
  insert into outcome_intervals as c (broadcast_id, width_ms, start_ms, push_service, ${listColumns})
  values (:broadcastId, :widthMs, :startMs, :pushService, ${listParameters})
  on conflict (broadcast_id, width_ms, start_ms, push_service, shard) do update set ${addColumns}`;

const prune = `
  delete from outcome_intervals
  where broadcast_id = ${allBroadcasts} and width_ms = :widthMs and start_ms < :beforeMs`;

export function createOutcomeCounts(database: SqliteDatabase): OutcomeCounts {
  let pruneAtMs = 0;

  const dropOld = (nowMs: number): void => {
    if (nowMs < pruneAtMs) return;
    pruneAtMs = nowMs + outcomeWidths.coarse.widthMs;
    for (const { widthMs, keptMs: retentionMs } of Object.values(outcomeWidths)) {
      database.run(prune, { widthMs, beforeMs: nowMs - retentionMs });
    }
  };

  const add = ({ origin, ...counts }: OriginCounts): void => {
    const nowMs = database.now();
    dropOld(nowMs);
    const pushService = pushServiceName(origin);
    for (const { widthMs } of Object.values(outcomeWidths)) {
      database.run(addInterval, {
        ...counts,
        broadcastId: allBroadcasts,
        pushService,
        widthMs,
        startMs: nowMs - (nowMs % widthMs),
      });
    }
    database.run(addInterval, {
      ...counts,
      broadcastId: allBroadcasts,
      pushService,
      widthMs: totalWidthMs,
      startMs: 0,
    });
  };

  return {
    add,
    addToBroadcast: ({ id: broadcastId, startAtMs }, allCounts) => {
      add(allCounts);
      const { origin, ...counts } = allCounts;
      const interval = broadcastInterval(startAtMs, database.now());
      database.run(addInterval, {
        broadcastId,
        ...counts,
        ...interval,
        pushService: pushServiceName(origin),
      });
    },
  };
}
