// Rate limits in PostgreSQL.
import type { RateShares } from '../rate-shares.ts';
import type { PostgresDatabase } from './database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresRateShares(database: PostgresDatabase, functions: string): RateShares {
  return {
    take: async ({ origin, perSecond, wanted, rateLimited }) => {
      const share = await database.first<{ readonly granted: number; readonly queue_ms: number }>(
        `select * from ${functions}.take_rate_share($1, $2, $3, $4, $5)`,
        [database.now(), origin, perSecond, wanted, rateLimited],
      );
      return { permits: share?.granted ?? 0, queueMs: share?.queue_ms ?? 0 };
    },
  };
}
