// What an outcome means for a row of a broadcast: settled, or stored to be tried again.
import type { Broadcast, Recipient } from '../store/broadcasts.ts';
import type { RowResult } from '../store/ledger.ts';
import type { Outcome } from '../protocol/outcome.ts';
import type { Refusal } from './origin-gate.ts';
import { retryAfterAttempt, retryAfterDeferral, type RetryPolicy, type Tries } from './retry-policy.ts';

/** A row as a worker holds it. */
export interface Row {
  readonly recipient: Recipient;
  readonly broadcast: Broadcast;
  readonly origin: string;
  /** Before this go. */
  readonly tries: Tries;
}

/** What is left of the message's TTL for this row. It counts from the first attempt. */
export function ttlSecondsFor({ broadcast, tries }: Row, nowMs: number): number {
  if (tries.attempts === 0) return broadcast.ttlSeconds;
  return Math.max(0, Math.floor((tries.expiresAtMs - nowMs) / 1000));
}

/** The row was tried. @param status of the answer, absent where there was none */
export function toRowResult(
  row: Row,
  outcome: Outcome,
  status: number | undefined,
  sentAtMs: number,
  policy: RetryPolicy,
): RowResult {
  const { recipient, origin } = row;
  if (outcome.kind === 'retry' && outcome.reason === 'deferred') {
    return putOff(row, outcome.afterMs ?? 0, Date.now(), policy);
  }
  const attempt = row.tries.attempts + 1;
  const record = {
    atMs: sentAtMs,
    attempt,
    outcome: outcome.kind,
    status,
    reason: 'reason' in outcome ? outcome.reason : undefined,
    detail: 'detail' in outcome ? outcome.detail : undefined,
  };
  const told: RowResult = { recipient, origin, attempts: 1, result: outcome.kind, record };
  if (outcome.kind === 'retry') {
    const tries = { ...row.tries, attempts: attempt, expiresAtMs: expiryOf(row, sentAtMs) };
    const retry = retryAfterAttempt(policy, tries, outcome.afterMs ?? 0, Date.now(), Math.random());
    return typeof retry === 'string' ? { ...told, result: retry } : { ...told, retry };
  }
  if (outcome.kind === 'rejected' && outcome.isAlarm) {
    return { ...told, alarm: { reason: outcome.reason, detail: outcome.detail ?? '' } };
  }
  return told;
}

/** Nothing was sent, since nothing of the kind may be. */
export function refuse({ recipient, origin }: Row, { reason, detail }: Refusal): RowResult {
  return { recipient, origin, attempts: 0, result: 'rejected', alarm: { reason, detail } };
}

/** Nothing was sent, since it is too late. */
export function expire({ recipient, origin }: Row): RowResult {
  return { recipient, origin, attempts: 0, result: 'expired' };
}

/** Nothing was sent, since the push service takes nothing now. */
export function putOff(row: Row, afterMs: number, nowMs: number, policy: RetryPolicy): RowResult {
  const { recipient, origin } = row;
  const tries = { ...row.tries, deferrals: row.tries.deferrals + 1 };
  const retry = retryAfterDeferral(policy, tries, afterMs, nowMs, Math.random());
  const told = { recipient, origin, attempts: 0 as const };
  return typeof retry === 'string' ? { ...told, result: retry } : { ...told, result: 'retry', retry };
}

/** The answer is still to come; the row is held until it is there. */
export function setAside(row: Row, leaseMs: number): RowResult {
  const { recipient, origin, tries } = row;
  return { recipient, origin, attempts: 0, result: 'inFlight', retry: { ...tries, delayMs: leaseMs } };
}

/** A message lives as long from its first attempt as its TTL says, and never longer than its broadcast. */
function expiryOf({ broadcast, tries }: Row, sentAtMs: number): number {
  if (tries.attempts > 0) return tries.expiresAtMs;
  return Math.min(broadcast.expiresAtMs, sentAtMs + broadcast.ttlSeconds * 1000);
}
