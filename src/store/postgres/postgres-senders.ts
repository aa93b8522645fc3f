// What senders share in PostgreSQL: rate limits, and what each knows of push services.
import type { RateShares } from '../rate-shares.ts';
import { reportLifetimeMs, type SenderReport, type SenderReports } from '../senders.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresRateShares(database: PostgresDatabase, functions: string): RateShares {
  return {
    take: async ({ origin, perSecond, wanted, putOff }) => {
      const share = await database.first<{ readonly granted: number; readonly queue_ms: number }>(
        `select * from ${functions}.take_rate_share($1, $2, $3, $4, $5)`,
        [database.now(), origin, perSecond, wanted, putOff],
      );
      return { permits: share?.granted ?? 0, queueMs: share?.queue_ms ?? 0 };
    },
  };
}

/** @param functions the schema of the database's functions */
export function createPostgresSenders(database: PostgresDatabase, functions: string): SenderReports {
  return {
    put: async (report) => {
      const { id, startedAtMs } = report;
      await database.run(
        `insert into deskbell.senders (id, started_at_ms, seen_at_ms, report)
         values ($1, $2, ${functions}.clock($4), $3)
         on conflict (id) do update set seen_at_ms = excluded.seen_at_ms, report = excluded.report`,
        [id, startedAtMs, JSON.stringify(report), database.now()],
      );
      await database.run(
        `delete from deskbell.senders where seen_at_ms < ${functions}.clock($1) - ${reportLifetimeMs}`,
        [database.now()],
      );
    },
    remove: async (id) => {
      await database.run('delete from deskbell.senders where id = $1', [id]);
    },
    list: async () => {
      const rows = await database.query<{ readonly seen_at_ms: number; readonly report: SenderReport }>(
        `select seen_at_ms, report from deskbell.senders
         where seen_at_ms >= ${functions}.clock($1) - ${reportLifetimeMs} order by started_at_ms, id`,
        [database.now()],
      );
      return rows.map(({ seen_at_ms, report }) => ({ ...report, seenAtMs: seen_at_ms }));
    },
  };
}
