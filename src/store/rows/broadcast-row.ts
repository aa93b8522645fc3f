// A row of a broadcast, as every database gives it, and the broadcast that it makes with its counts.
import type { Urgency } from '../../protocol/request.ts';
import {
  isOver,
  settlements,
  type Broadcast,
  type BroadcastSummary,
  type BroadcastState,
} from '../broadcasts.ts';
import { noOutcomes } from '../outcome-columns.ts';
import { sumReceiptCounts, type ReceiptCount } from '../receipts.ts';

export interface BroadcastRow {
  readonly id: number;
  readonly idempotency_key: string | null;
  readonly state: BroadcastState;
  readonly payload: Uint8Array;
  readonly ttl_seconds: number;
  readonly urgency: Urgency;
  readonly topic: string | null;
  readonly audience: number;
  readonly created_at_ms: number;
  readonly start_at_ms: number;
  readonly expires_at_ms: number;
  readonly finished_at_ms: number | null;
  /** Rows that nobody had read when the time was over. */
  readonly expired_unread: number;
  /** Not null where receipts are asked for. */
  readonly receipt_actions: string | null;
  readonly per_person: string | null;
}

/** What is in other tables. */
export interface BroadcastDetails extends Pick<Broadcast, 'waiting' | 'heldBack' | 'origins' | 'alarms'> {
  readonly receipts: readonly ReceiptCount[];
}

export function toBroadcast(row: BroadcastRow, { receipts, ...details }: BroadcastDetails): Broadcast {
  return {
    id: row.id,
    idempotencyKey: row.idempotency_key ?? undefined,
    state: row.state,
    payload: row.payload,
    ttlSeconds: row.ttl_seconds,
    urgency: row.urgency,
    topic: row.topic ?? undefined,
    createdAtMs: row.created_at_ms,
    startAtMs: row.start_at_ms,
    expiresAtMs: row.expires_at_ms,
    finishedAtMs: row.finished_at_ms ?? undefined,
    perPerson: row.per_person ?? undefined,
    audience: row.audience,
    counts: countRows(row, details.origins),
    ...details,
    receipts: row.receipt_actions === null ? undefined : sumReceiptCounts(receipts),
  };
}

function countRows(row: BroadcastRow, origins: Broadcast['origins']): Broadcast['counts'] {
  const { attempts: _, ...settled } = { ...noOutcomes, expired: row.expired_unread };
  for (const origin of origins) for (const name of settlements) settled[name] += origin[name];
  const rest = settlements.reduce((left, name) => left - settled[name], row.audience);
  return {
    ...settled,
    pending: isOver(row) ? 0 : rest,
    removed: row.state === 'done' ? rest : 0,
    cancelled: row.state === 'cancelled' ? rest : 0,
  };
}

export const toBroadcastSummary = ({
  id,
  state,
  start_at_ms,
  payload,
}: Pick<BroadcastRow, 'id' | 'state' | 'start_at_ms' | 'payload'>): BroadcastSummary => ({
  id,
  state,
  startAtMs: start_at_ms,
  payload,
});
