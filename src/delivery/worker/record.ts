// Last step of a message's path, for rows of broadcasts: turns the result into what the ledger stores. The row is
// then settled, or will be retried.
import { isVapidRefusal, type Outcome } from '../../protocol/outcome.ts';
import type { Broadcast, Recipient } from '../../store/broadcasts.ts';
import type { RowRecord, RowResult, Suspension } from '../../store/ledger.ts';
import { drawOrderEnd, type IfRefused } from '../../store/push-services.ts';
import { findChromeLimit } from '../limits/rate-limits.ts';
import type { Destination } from '../message-path/destinations.ts';
import { expiredUnsentReason, notListedReason } from '../limits/not-sent.ts';
import type { Result } from '../message-path/message-path.ts';
import type { Answer, Failure } from '../../transport/transport.ts';
import {
  broadcastWaitsForUnlistedMs,
  longestUnlistedWaitMs,
  longestWaitDeferrals,
  retryAfterAttempt,
  retryAfterDeferral,
  retryAfterVapidRefusal,
  type RetryPolicy,
  retryWhenMended,
  type Tries,
  unlistedTries,
} from '../settings/retry-policy.ts';

export interface Row {
  readonly recipient: Recipient;
  readonly broadcast: Broadcast;
  readonly destination: Destination;
  /** How often the row was tried and deferred before this attempt. */
  readonly tries: Tries;
  /** What to do with the row if its push service refuses our token or key. */
  readonly ifRefused: IfRefused;
  /** 0 if no request was sent for the row. */
  readonly sentAtMs: number;
}

export interface RecordSettings {
  readonly retryPolicy: RetryPolicy;
  /** Returns milliseconds since 1970. */
  readonly now: () => number;
  /** Returns numbers from 0 up to but excluding 1, to spread retries. */
  readonly random: () => number;
  /** Returns how long a row waits if nothing can be sent to its push service for `waitMs`. */
  readonly hold: (row: Row, waitMs: number) => number;
}

/**
 * Turns a result into what the ledger stores. A broadcast waits only a few tries, or a few minutes, for a row of an
 * unlisted host. After that, the row is *outside*: the broadcast may end without the row, which is tried less often.
 */
export function toRowResult(row: Row, result: Result, settings: RecordSettings): RowResult {
  const { tries, broadcast, destination } = row;
  const wasOutside = tries.isOutside === true;
  const ownResult = toOwnResult(row, result, settings);
  const rowResult = wasOutside ? { ...ownResult, wasOutside } : ownResult;
  const { retry } = rowResult;
  if (retry === undefined || !destination.isUnlisted || ofOurs.has(result.kind)) return rowResult;
  const nowMs = settings.now();
  const goneMs = nowMs - broadcast.startAtMs;
  const isOutside =
    retry.isOutside === true ||
    // a suspended row is not read again until its push service accepts messages
    rowResult.suspension !== undefined ||
    retry.attempts + retry.deferrals >= unlistedTries ||
    goneMs + retry.delayMs > broadcastWaitsForUnlistedMs;
  if (!isOutside) return rowResult;
  const leastMs = Math.min(goneMs / 4, longestUnlistedWaitMs, retry.expiresAtMs - nowMs);
  const delayMs = Math.max(retry.delayMs, result.kind === 'rateLimited' ? 0 : Math.floor(leastMs));
  return { ...rowResult, retry: { ...retry, isOutside, delayMs } };
}

/** Results that say nothing about the host. */
const ofOurs: ReadonlySet<Result['kind']> = new Set(['quiet', 'waits']);

function toOwnResult(row: Row, result: Result, settings: RecordSettings): RowResult {
  switch (result.kind) {
    case 'response':
    case 'failure':
      return toAttempted(row, result, settings);
    case 'deferred':
      return row.destination.isUnlisted
        ? toDeferred(row, result, settings)
        : toHeld(
            row,
            { ...result, reason: result.obstacle, isTold: result.obstacle !== undefined },
            settings,
          );
    case 'notSendable':
      // an operator can correct the subject of our VAPID tokens, so the row waits until then
      if (result.fault.reason === 'vapid-refused') return toWaiting(row, result.fault, settings);
      return { ...unsent(row, result.fault), result: 'rejected', alarm: toAlarm(row, result.fault) };
    case 'notListed':
      return toWaiting(row, { reason: notListedReason, detail: result.detail }, settings);
    case 'suspended':
      return toSuspended(row, settings);
    case 'quiet':
    case 'rateLimited':
    case 'waits':
      return toPostponed(row, result.afterMs, settings);
    case 'expired':
      return {
        ...unsent(row),
        result: 'expired',
        ...(isOverUntried(row, settings) && { alarm: expiredUnsent }),
      };
    case 'dormant':
      return toParked(row, unsent(row), settings);
    case 'capped':
      return { ...unsent(row), result: 'capped' };
  }
}

const expiredUnsent = {
  origin: '',
  reason: expiredUnsentReason,
  detail: 'messages expired before any of it was sent: nobody delivered it in time, or the clock is ahead',
} as const;

/** True if the broadcast expired before any message was sent. */
const isOverUntried = ({ broadcast, tries }: Row, { now }: RecordSettings): boolean =>
  tries.isOutside !== true &&
  tries.attempts + tries.deferrals === 0 &&
  now() >= broadcast.expiresAtMs &&
  broadcast.origins.every(({ attempts }) => attempts === 0);

/** Stores the row individually, under the lease, until its response arrives. */
export function toDetached(row: Row, leaseMs: number): RowResult {
  return { ...unsent(row), result: 'detached', retry: { ...row.tries, delayMs: leaseMs } };
}

function toAttempted(row: Row, { outcome, response }: Answer | Failure, settings: RecordSettings): RowResult {
  if (outcome.kind === 'retry' && outcome.isUnsent) {
    const isForAll = outcome.reason !== 'sender-fault' && !row.destination.isUnlisted;
    if (!isForAll) return toWaiting(row, outcome, settings);
    return toHeld(row, { ...outcome, afterMs: 0, isTold: isToldAtOnce(outcome.reason) }, settings);
  }
  const { recipient, destination, sentAtMs } = row;
  const attempt = row.tries.attempts + 1;
  const record = {
    atMs: sentAtMs,
    attempt,
    status: response?.status,
    reason: 'reason' in outcome ? outcome.reason : undefined,
    detail: 'detail' in outcome ? outcome.detail : undefined,
  };
  const { origin } = destination;
  const attempted: RowResult = { recipient, origin, attempts: 1, result: outcome.kind, record };
  if (outcome.kind === 'retry') {
    if (outcome.isGoneAtLast && attempt >= settings.retryPolicy.maxAttempts)
      return { ...attempted, result: 'gone' };
    const alarm = findChromeLimit(origin, outcome, attempt);
    return withRetry(alarm === undefined ? attempted : { ...attempted, alarm }, row, outcome, settings);
  }
  if (outcome.kind !== 'rejected') return attempted;
  if (outcome.reason === 'address-blocked') return toBlocked(row, attempted, outcome, settings);
  const isRefusal = isVapidRefusal(outcome);
  if (isRefusal && row.ifRefused !== 'reject') return toVapidRefused(row, attempted, outcome, settings);
  const isReported = isRefusal && (row.tries.refusals ?? 0) > 0;
  return outcome.isAlarm && !isReported ? { ...attempted, alarm: toAlarm(row, outcome) } : attempted;
}

type Rejected = Extract<Outcome, { kind: 'rejected' }>;

/** Retries an unlisted host, because the resolver may have returned a wrong address. */
function toBlocked(row: Row, attempted: RowResult, outcome: Rejected, settings: RecordSettings): RowResult {
  const isFirst = row.tries.attempts === 0;
  const blocked = isFirst ? { ...attempted, alarm: toAlarm(row, outcome) } : attempted;
  const retried = withRetry(blocked, row, {}, settings);
  return retried.result === 'exhausted' ? blocked : retried;
}

/** Retries the row after our token or key was refused, because such a refusal is not final. */
function toVapidRefused(
  row: Row,
  attempted: RowResult,
  outcome: Rejected,
  { retryPolicy, now, random }: RecordSettings,
): RowResult {
  const { refusals = 0 } = row.tries;
  const alarm = refusals === 0 ? toAlarm(row, outcome) : undefined;
  const tries = { ...row.tries, refusals: refusals + 1 };
  const retry = retryAfterVapidRefusal(retryPolicy, tries, 0, now(), random());
  if (typeof retry === 'string') return { ...attempted, result: retry, alarm };
  return { ...attempted, result: 'refused', retry, suspension: toSuspension(row, true, random), alarm };
}

function withRetry(
  attempted: RowResult,
  row: Row,
  { afterMs = 0, isInDoubt = false }: { readonly afterMs?: number; readonly isInDoubt?: boolean },
  { retryPolicy, now, random }: RecordSettings,
): RowResult {
  const { attempts, deferrals, doubts = 0 } = row.tries;
  const tries = {
    ...row.tries,
    deferrals: row.destination.isUnlisted ? deferrals : 0,
    attempts: attempts + 1,
    doubts: doubts + Number(isInDoubt),
    expiresAtMs: expiryOf(row),
  };
  return toRetried(attempted, retryAfterAttempt(retryPolicy, tries, afterMs, now(), random()));
}

/**
 * Holds the row because nothing can be sent to its push service. The row waits with the push service's other rows until
 * it expires. No attempt is counted.
 */
function toHeld(
  row: Row,
  { reason, detail = '', afterMs, isTold }: Hindrance,
  settings: RecordSettings,
): RowResult {
  const isNews = isTold && reason !== undefined && row.tries.deferrals < heldAndTold;
  const deferrals = isNews ? heldAndTold : Math.max(row.tries.deferrals, 1);
  const unsentRow = { ...unsent(row, { reason, detail }), alarm: isNews ? { reason, detail } : undefined };
  const leftMs = row.tries.expiresAtMs - settings.now();
  if (leftMs <= 0) return { ...unsentRow, result: 'expired' };
  const delayMs = Math.min(leftMs, settings.hold(row, afterMs));
  return { ...unsentRow, result: 'retry', retry: { ...row.tries, deferrals, delayMs } };
}

/** An obstacle that prevents all sending to a push service. */
interface Hindrance {
  readonly reason: string | undefined;
  readonly detail?: string | undefined;
  /** The minimum delay. */
  readonly afterMs: number;
  /** Whether the obstacle raises an alarm, unless the broadcast's row has already raised one. */
  readonly isTold: boolean;
}

/** The `deferrals` of a held row that has raised its alarm. Before the alarm, a held row's `deferrals` are 1. */
const heldAndTold = 2;

/** Defers a row for an unlisted push service. */
function toDeferred(
  row: Row,
  { afterMs, obstacle: reason, detail }: Extract<Result, { kind: 'deferred' }>,
  settings: RecordSettings,
): RowResult {
  const { retryPolicy, now, random } = settings;
  const tries = { ...row.tries, deferrals: row.tries.deferrals + 1 };
  const alarm = reason === undefined ? undefined : { ...alarmPlaceOf(row), reason, detail };
  const deferred = { ...unsent(row, { reason, detail }), alarm };
  if (isGivenUp(row, tries, reason)) return toParked(row, deferred, settings);
  return toRetried(deferred, retryAfterDeferral(retryPolicy, tries, afterMs, now(), random()));
}

/**
 * True if the row's host should become dormant. The host is unlisted. It has never accepted a message, even after
 * several tries of the row, while known or listed push services accept messages. Its subscriptions are kept.
 */
const isGivenUp = (
  { destination }: Row,
  { attempts, deferrals }: Tries,
  reason: string | undefined,
): boolean =>
  attempts + deferrals >= unlistedTries &&
  (reason === undefined || ofHost.has(reason)) &&
  destination.isSilentStranger();

/** Makes the row's host dormant. The row waits for a day, or until `store/unlisted-push-services.ts` wakes the host. */
function toParked(row: Row, result: Omit<RowResult, 'result'>, { now }: RecordSettings): RowResult {
  row.destination.setDormant();
  const leftMs = row.tries.expiresAtMs - now();
  if (leftMs <= 0) return { ...result, result: 'expired' };
  const retry = { ...row.tries, isOutside: true, delayMs: Math.min(leftMs, parkedMs) };
  return { ...result, result: 'retry', retry };
}

const parkedMs = 24 * 60 * 60 * 1000;

/** Reasons that are the fault of a single host rather than of this machine. */
const ofHost: ReadonlySet<string> = new Set(['connection', 'protocol-error', 'address-blocked']);

/** All unlisted hosts share one alarm per reason, because there may be any number of them. */
const alarmPlaceOf = ({ destination }: Row) => destination.isUnlisted && ({ origin: '' } as const);

/**
 * Retries a row that could not be sent because of a problem unrelated to the message. Any worker may send it. The
 * waits grow, so that a worker that cannot send the row seldom takes it. No attempt is counted: the row ends when it
 * expires.
 */
function toWaiting(
  row: Row,
  { reason, detail = '' }: { readonly reason: string; readonly detail?: string },
  settings: RecordSettings,
): RowResult {
  const { retryPolicy, now, random } = settings;
  const { deferrals } = row.tries;
  const tries = { ...row.tries, deferrals: Math.min(deferrals + 1, longestWaitDeferrals) };
  const alarm =
    deferrals === 0 && isToldAtOnce(reason) ? { ...alarmPlaceOf(row), reason, detail } : undefined;
  const waiting = { ...unsent(row, { reason, detail }), alarm };
  if (isGivenUp(row, tries, reason)) return toParked(row, waiting, settings);
  return toRetried(waiting, retryWhenMended(retryPolicy, tries, 0, now(), random()));
}

/** False for faults that are usually short. The transport reports them if they last. */
const isToldAtOnce = (reason: string): boolean => reason !== 'connection' && reason !== 'protocol-error';

function toSuspended(row: Row, { random }: RecordSettings): RowResult {
  return {
    ...unsent(row),
    result: 'heldBack',
    retry: { ...row.tries, delayMs: 0 },
    suspension: toSuspension(row, (row.tries.refusals ?? 0) > 0, random),
  };
}

/** Rows that were never refused become probes first, because a refused row may be refused every time. */
const toSuspension = ({ destination }: Row, wasRefused: boolean, random: () => number): Suspension => ({
  vapidPublicKey: destination.vapidPublicKey,
  drawOrder: Math.floor(((wasRefused ? 1 : 0) + random()) * (drawOrderEnd / 2)),
});

/** Postpones a row to a given time, without jitter, because nothing has failed. */
function toPostponed(row: Row, delayMs: number, { now }: RecordSettings): RowResult {
  if (now() + delayMs >= row.tries.expiresAtMs) return { ...unsent(row), result: 'expired' };
  return { ...unsent(row), result: 'retry', retry: { ...row.tries, delayMs } };
}

/** Retries the row, unless it has expired or has no tries left. */
const toRetried = (row: Omit<RowResult, 'result'>, retry: ReturnType<typeof retryAfterAttempt>): RowResult =>
  typeof retry === 'string' ? { ...row, result: retry } : { ...row, result: 'retry', retry };

/** @param words why nothing was sent */
const unsent = (
  { recipient, destination, tries }: Row,
  { reason, detail }: Pick<RowRecord, 'reason' | 'detail'> = {},
) =>
  ({
    recipient,
    origin: destination.origin,
    attempts: 0,
    record: { attempt: tries.attempts, reason, detail },
  }) as const;

const toAlarm = (row: Row, { reason, detail = '' }: Pick<Rejected, 'reason' | 'detail'>) => ({
  ...alarmPlaceOf(row),
  reason,
  detail,
});

/** A message is kept for its TTL, counted from the first attempt, but never beyond the end of its broadcast. */
function expiryOf({ broadcast, tries, sentAtMs }: Row): number {
  if (tries.attempts > 0) return tries.expiresAtMs;
  return Math.min(broadcast.expiresAtMs, sentAtMs + broadcast.ttlSeconds * 1000);
}
