// Reads the figures over time in SQLite. Triggers count subscriptions, `outcome-counts.ts` the outcomes.
import { outcomeWidths, type OutcomeInterval, type Statistics } from '../statistics.ts';
import { totalWidthMs } from './outcome-counts.ts';
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';

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
  readonly capped: number;
}

export function createSqliteStatistics(database: SqliteDatabase): Statistics {
  const days = database.prepare<{ sinceDay: number }, { day: number; gained: number; lost: number }>(
    'select day, gained, lost from subscription_days where day >= :sinceDay order by day',
  );
  const intervals = database.prepare<{ widthMs: number; sinceMs: number }, IntervalRow>(`
    select * from outcome_intervals where width_ms = :widthMs and start_ms >= :sinceMs
    order by start_ms, push_service
  `);
  const totals = database.prepare<{ widthMs: number }, IntervalRow>(
    'select * from outcome_intervals where width_ms = :widthMs order by attempts desc, push_service',
  );
  const pending = database.prepare<{ nowMs: number }, { count: number }>(`
    select coalesce(sum(b.audience - b.expired_unread - coalesce((
      select sum(accepted + gone + rejected + expired + exhausted + capped)
      from broadcast_origins o where o.broadcast_id = b.id), 0)), 0) as count
    from broadcasts b where b.state = 'running' and b.start_at_ms <= :nowMs
  `);
  const waiting = database.prepare<NoValues, { count: number; held_back: number }>(`
    select coalesce(sum(rows), 0) as count,
           coalesce(sum(rows) filter (where push_service_id <> 0), 0) as held_back
    from waiting_rows where broadcast_id in (select id from broadcasts where state = 'running')
  `);
  const alarms = database.prepare<NoValues, { reason: string; count: number }>(`
    select reason, count(*) as count from alarms
    where broadcast_id in (select id from broadcasts where state in ('running', 'paused'))
    group by reason order by reason
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
    outcomeTotals: () =>
      database.read(() =>
        totals.all({ widthMs: totalWidthMs }).map((row) => {
          const { startMs: _startMs, widthMs: _widthMs, ...total } = toInterval(row);
          return total;
        }),
      ),
    backlog: () =>
      database.read(() => {
        const { count: waitingRows = 0, held_back: suspendedRows = 0 } = waiting.first({}) ?? {};
        return {
          pendingRows: pending.first({ nowMs: database.now() })?.count ?? 0,
          waitingRows,
          suspendedRows,
          alarms: alarms.all({}).map(({ reason, count }) => ({ reason, count })),
        };
      }),
    outcomesOf: (broadcastId) => database.read(() => intervalsOf.all({ broadcastId }).map(toInterval)),
  };
}

function toInterval(row: IntervalRow): OutcomeInterval {
  const { start_ms, width_ms, push_service, attempts, accepted, gone, rejected, expired, exhausted, capped } =
    row;
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
    capped,
  };
}
