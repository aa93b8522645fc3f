// Rate limits in SQLite: a row for each push service that has one.
import {
  abandonedAfterMs,
  burstSeconds,
  type RateRequest,
  type RateShare,
  type RateShares,
} from '../rate-shares.ts';
import type { SqliteDatabase } from './database.ts';

interface LimitRow {
  readonly permits: number;
  readonly refilled_at_ms: number;
  readonly queued_until_ms: number;
  readonly sent_at_ms: number;
}

export function createSqliteRateShares(database: SqliteDatabase): RateShares {
  const find = database.prepare<{ origin: string }, LimitRow>(
    'select permits, refilled_at_ms, queued_until_ms, sent_at_ms from rate_limits where origin = :origin',
  );
  const store = database.prepare<{
    origin: string;
    permits: number;
    nowMs: number;
    queuedUntilMs: number;
    sentAtMs: number;
  }>(`
    insert into rate_limits (origin, permits, refilled_at_ms, queued_until_ms, sent_at_ms)
    values (:origin, :permits, :nowMs, :queuedUntilMs, :sentAtMs)
    on conflict (origin) do update set
      permits = excluded.permits, refilled_at_ms = excluded.refilled_at_ms,
      queued_until_ms = excluded.queued_until_ms, sent_at_ms = excluded.sent_at_ms
  `);

  const take = ({ origin, perSecond, wanted, rateLimited }: RateRequest): RateShare => {
    const nowMs = database.now();
    const burst = Math.max(1, perSecond * burstSeconds);
    const row = find.first({ origin }) ?? {
      permits: burst,
      refilled_at_ms: nowMs,
      queued_until_ms: nowMs,
      sent_at_ms: nowMs,
    };
    const elapsedMs = Math.max(0, nowMs - row.refilled_at_ms);
    const saved = Math.min(burst, row.permits + (elapsedMs * perSecond) / 1000);
    const permits = Math.min(wanted, Math.floor(saved));
    const intervalMs = 1000 / perSecond;
    const isAbandoned = nowMs - row.sent_at_ms > Math.max(abandonedAfterMs, 2 * intervalMs);
    const queueStartMs = isAbandoned ? nowMs : Math.max(nowMs, row.queued_until_ms);
    const queuedUntilMs = Math.ceil(queueStartMs + rateLimited * intervalMs);
    const sentAtMs = permits > 0 || isAbandoned ? nowMs : row.sent_at_ms;
    store.run({ origin, permits: saved - permits, nowMs, queuedUntilMs, sentAtMs });
    return { permits, queueMs: queuedUntilMs - nowMs };
  };

  return { take: (request) => database.write(() => take(request)) };
}
