// A row of the attempt log, as every database gives it.
import type { AttemptRecord } from '../broadcasts.ts';

export interface AttemptRow {
  readonly id: number;
  readonly broadcast_id: number;
  readonly subscription_id: number | null;
  readonly at_ms: number;
  readonly origin: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly reason: string | null;
  readonly detail: string | null;
}

export const toAttempt = (row: AttemptRow): AttemptRecord => ({
  id: row.id,
  broadcastId: row.broadcast_id,
  subscriptionId: row.subscription_id ?? undefined,
  atMs: row.at_ms,
  origin: row.origin,
  attempt: row.attempt,
  outcome: row.outcome,
  status: row.status ?? undefined,
  reason: row.reason ?? undefined,
  detail: row.detail ?? undefined,
});
