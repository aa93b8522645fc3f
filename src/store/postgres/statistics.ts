// Reads the figures over time in PostgreSQL. Triggers count subscriptions, `commit_page` and `record_single_answer` the outcomes.
import {
  outcomeWidths,
  type Backlog,
  type OutcomeInterval,
  type OutcomeTotal,
  type Statistics,
} from '../statistics.ts';
import type { PostgresDatabase } from './database.ts';

const dayMs = 24 * 60 * 60 * 1000;

const selectIntervals = `
  select start_ms as "startMs", width_ms as "widthMs", push_service as "pushService",
         sum(attempts) as attempts, sum(accepted) as accepted, sum(gone) as gone, sum(rejected) as rejected,
         sum(expired) as expired, sum(exhausted) as exhausted, sum(capped) as capped
  from deskbell.outcome_intervals
`;
const inOrder = 'group by start_ms, width_ms, push_service order by start_ms, push_service collate "C"';

/** @param functions the schema of the database's functions */
export function createPostgresStatistics(database: PostgresDatabase, functions: string): Statistics {
  return {
    subscriptionDays: async (sinceMs) => {
      const rows = await database.query<{
        readonly day: number;
        readonly gained: number;
        readonly lost: number;
      }>(
        `select day, sum(gained) as gained, sum(lost) as lost from deskbell.subscription_days
         where day >= $1 group by day order by day`,
        [Math.floor(sinceMs / dayMs)],
      );
      return rows.map(({ day, gained, lost }) => ({ startMs: day * dayMs, gained, lost }));
    },
    outcomes: ({ width, sinceMs }) =>
      database.query<OutcomeInterval>(
        `${selectIntervals} where broadcast_id = 0 and width_ms = $1 and start_ms >= $2 ${inOrder}`,
        [outcomeWidths[width].widthMs, Math.trunc(sinceMs)],
      ),
    outcomeTotals: () =>
      database.query<OutcomeTotal>(`
        select push_service as "pushService", sum(attempts) as attempts, sum(accepted) as accepted, sum(gone) as gone,
               sum(rejected) as rejected, sum(expired) as expired, sum(exhausted) as exhausted, sum(capped) as capped
        from deskbell.outcome_intervals where broadcast_id = 0 and width_ms = 0
        group by push_service order by sum(attempts) desc, push_service collate "C"
      `),
    backlog: async () => {
      const [row] = await database.query<
        Omit<Backlog, 'alarms'> & { readonly alarms: Backlog['alarms'] | null }
      >(
        `
        select
          (select coalesce(sum(b.audience - b.expired_unread - coalesce((
             select sum(accepted + gone + rejected + expired + exhausted + capped)
             from deskbell.origin_counts c where c.broadcast_id = b.id), 0)), 0)
           from deskbell.broadcasts b
           where b.state = 'running' and b.start_at_ms <= ${functions}.clock($1)) as "pendingRows",
          r.waiting as "waitingRows", r.held_back as "suspendedRows",
          (select jsonb_agg(a order by a.reason) from (
             select a.reason, count(*) as count
             from deskbell.alarms a join deskbell.broadcasts b on b.id = a.broadcast_id
             where b.state in ('running', 'paused') group by a.reason) a) as alarms
        from (
          select coalesce(sum(w.rows), 0) as waiting,
                 coalesce(sum(w.rows) filter (where w.push_service_id <> 0), 0) as held_back
          from deskbell.waiting_rows w join deskbell.broadcasts b on b.id = w.broadcast_id
          where b.state = 'running') r
      `,
        [database.now()],
      );
      return { pendingRows: 0, waitingRows: 0, suspendedRows: 0, ...row, alarms: row?.alarms ?? [] };
    },
    outcomesOf: (broadcastId) =>
      database.query<OutcomeInterval>(`${selectIntervals} where broadcast_id = $1 ${inOrder}`, [broadcastId]),
  };
}
