// Decides when a row is retried and when to give up: backoff with jitter, `Retry-After`, the TTL and the number of
// attempts. The first wait is what the push service asked for. After that, the backoff decides, with `Retry-After` as
// the minimum. Rows for a push service that cannot be reached wait together (limits/origin-load.ts).
import type { StoredRetry } from '../../store/ledger.ts';

/** When and how often a broadcast's message is retried. Delays are in milliseconds. */
export interface RetryPolicy {
  /** The wait after the first attempt, if the push service does not ask for a wait. The wait doubles each time. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Maximum number of POSTs for one row, including the first. */
  readonly maxAttempts: number;
  /**
   * How many times a message is repeated if no readable response to it arrives. The push service may have accepted the
   * message at each of these attempts.
   */
  readonly maxRepeatsInDoubt: number;
  /** The first wait of a row that needs a fix on our side, or whose push service is unlisted. */
  readonly firstDeferralMs: number;
  readonly maxDeferralMs: number;
}

/** With these values, all attempts together take about three quarters of an hour. */
export const defaultRetryPolicy: RetryPolicy = {
  firstDelayMs: 5000,
  maxDelayMs: 30 * 60 * 1000,
  maxAttempts: 10,
  maxRepeatsInDoubt: 3,
  firstDeferralMs: 1000,
  maxDeferralMs: 5 * 60 * 1000,
};

/** A broadcast goes on without a row for an unlisted push service after this many tries. They take about a minute. */
export const unlistedTries = 5;
/** How long a broadcast waits for an unlisted push service. This is enough to send 6,000 messages to it. */
export const broadcastWaitsForUnlistedMs = 10 * 60 * 1000;
/** The longest wait between tries of a row after its broadcast has gone on without the row. */
export const longestUnlistedWaitMs = 6 * 60 * 60 * 1000;

/** How many times a row was tried and deferred, and when it expires. */
export type Tries = Omit<StoredRetry, 'delayMs'>;

/**
 * Decides when to try a row again.
 *
 * @param tries including the attempt or deferral that has just happened
 * @param afterMs minimum wait that the push service asked for
 * @param random 0 to 1
 */
type NextTry = (
  policy: RetryPolicy,
  tries: Tries,
  afterMs: number,
  nowMs: number,
  random: number,
) => StoredRetry | 'expired' | 'exhausted' | 'doubtful';

/** At most this many deferrals of a row that waits for a fix on our side are counted. More would not lengthen waits. */
export const longestWaitDeferrals = 10;

export const retryAfterAttempt: NextTry = (policy, tries, afterMs, ...when) => {
  if ((tries.doubts ?? 0) > policy.maxRepeatsInDoubt) return 'doubtful';
  if (tries.attempts >= policy.maxAttempts) return 'exhausted';
  const backoffMs = doubled(policy.firstDelayMs, tries.attempts, policy.maxDelayMs);
  const isFirstAsked = tries.attempts === 1 && afterMs > 0;
  return schedule(tries, isFirstAsked ? afterMs : Math.max(afterMs, backoffMs), ...when);
};

/** Used if a row for an unlisted push service was put off. Nothing was sent, so the row is retried until it expires. */
export const retryAfterDeferral: NextTry = (policy, tries, afterMs, ...when) => {
  const backoffMs = doubled(policy.firstDeferralMs, tries.deferrals, policy.maxDeferralMs);
  return schedule(tries, Math.max(afterMs, backoffMs), ...when);
};

/**
 * Used after a push service refused our token or key. The push service may accept them again at any time, so the row is
 * retried until it expires.
 */
export const retryAfterVapidRefusal: NextTry = (policy, tries, _afterMs, ...when) =>
  scheduleBefore(policy.firstDelayMs, policy.maxDelayMs, tries, tries.refusals ?? 1, ...when);

/** Used if the row needs a fix on our side, or needs another sender. The row is retried until it expires. */
export const retryWhenMended: NextTry = (policy, tries, _afterMs, ...when) =>
  scheduleBefore(policy.firstDeferralMs, policy.maxDeferralMs, tries, tries.deferrals, ...when);

function doubled(firstMs: number, times: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** (times - 1));
}

/** Waits at most half of the time that is left. If less than `firstMs` is left, the row expires. */
function scheduleBefore(
  firstMs: number,
  maxMs: number,
  tries: Tries,
  times: number,
  nowMs: number,
  random: number,
): StoredRetry | 'expired' {
  const leftMs = tries.expiresAtMs - nowMs;
  const waitMs = doubled(firstMs, times, maxMs);
  return schedule(tries, leftMs < firstMs ? waitMs : Math.min(waitMs, leftMs / 2), nowMs, random);
}

function schedule(tries: Tries, waitMs: number, nowMs: number, random: number): StoredRetry | 'expired' {
  // wait up to a quarter longer, so that rows that failed together do not come back together
  const delayMs = Math.ceil(waitMs * (1 + random / 4));
  return nowMs + delayMs >= tries.expiresAtMs ? 'expired' : { ...tries, delayMs };
}
