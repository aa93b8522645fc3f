// Reads the figures over time in SQLite. Triggers count subscriptions, `outcome-counts.ts` the outcomes.
import { outcomeWidths, type OutcomeInterval, type Statistics } from '../statistics.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

const dayMs = 24 * 60 * 60 * 1000;

interface IntervalRow {
  readonly start_ms: number;
  readonly width_ms: number;
  readonly push_service: string;
  readonly attempts: number;
  readonly accepted: number;
  readonly gone: number;
  readonly rejected: number;
  readonly expired: number;
  readonly exhausted: number;
}

export function createSqliteStatistics(database: SqliteDatabase): Statistics {
  const days = database.prepare<{ sinceDay: number }, { day: number; gained: number; lost: number }>(
    'select day, gained, lost from subscription_days where day >= :sinceDay order by day',
  );
  const intervals = database.prepare<{ widthMs: number; sinceMs: number }, IntervalRow>(`
    select * from outcome_intervals where width_ms = :widthMs and start_ms >= :sinceMs
    order by start_ms, push_service
  `);
  const intervalsOf = database.prepare<{ broadcastId: number }, IntervalRow>(
    'select * from broadcast_intervals where broadcast_id = :broadcastId order by start_ms, push_service',
  );

  return {
    subscriptionDays: (sinceMs) =>
      database.read(() =>
        days
          .all({ sinceDay: Math.floor(sinceMs / dayMs) })
          .map(({ day, gained, lost }) => ({ startMs: day * dayMs, gained, lost })),
      ),
    outcomes: ({ width, sinceMs }) =>
      database.read(() => intervals.all({ widthMs: outcomeWidths[width].widthMs, sinceMs }).map(toInterval)),
    outcomesOf: (broadcastId) => database.read(() => intervalsOf.all({ broadcastId }).map(toInterval)),
  };
}

function toInterval(row: IntervalRow): OutcomeInterval {
  const { start_ms, width_ms, push_service, attempts, accepted, gone, rejected, expired, exhausted } = row;
  return {
    startMs: start_ms,
    widthMs: width_ms,
    pushService: push_service,
    attempts,
    accepted,
    gone,
    rejected,
    expired,
    exhausted,
  };
}
