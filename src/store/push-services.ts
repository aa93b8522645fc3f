// What all workers and processes together know about push services' responses. A push service that refuses our token or
// key refuses all messages, so not every row needs to be tried. But a stranger may have registered rows that are
// refused whatever the token, so a single refusal is never final.
//
//   push service   OPEN       messages are sent. `refusalsToSuspend` refusals without an acceptance → SUSPENDED
//                  SUSPENDED  rows are stored as suspended. From time to time, a few of them become probes: some that
//                             the push service accepted before, and others. In each group, rows that it has not refused
//                             come first; otherwise, the order is random. One acceptance → OPEN: suspended rows are due
//                             at once, and the next suspension takes twice as many refusals. No row to probe → OPEN
//
//   refused row    while SUSPENDED: suspended again
//                  while OPEN: retried, later each time. `decideRefusal` says what happens after a further refusal:
//                    suspend  nothing was accepted since the refusal, which counts towards a suspension
//                    retry    other rows were accepted since, so the refusal concerns only this row
//                    reject   as for `retry`, and the row has been refused `maxRefusals` times. Or, for `patienceMs`,
//                             nothing was accepted, although the key is good elsewhere and no row that was accepted
//                             before is refused: then these rows are apparently strangers'
//
// If no push service has accepted a message with this key, the key may be wrong, so rows wait until they expire.
//
// If a push service asks one sender to wait (429 or 503 with `Retry-After`), all senders wait, because the request is
// meant for the application server.
//
// Contains types, numbers, and the one decision that both databases leave to their caller.
import { type PortableDatabase, run, type Work } from './portable-sql.ts';

/** A push service in combination with one VAPID key. */
export interface PushServiceKey {
  readonly origin: string;
  /** The key that signed the messages. */
  readonly vapidPublicKey: string;
}

export interface PushServiceState extends PushServiceKey {
  readonly isSuspended: boolean;
  /** The push service is suspended after this many refusals in a row. */
  readonly refusalsToSuspend: number;
  /**
   * True if the push service has accepted a message with this key. An unlisted push service is reported for this reason
   * alone; a listed one is not.
   */
  readonly hasAccepted: boolean;
  /** How long the push service has asked all senders to wait, from now (`Retry-After`). Otherwise 0. */
  readonly waitMs: number;
}

/** The responses that one worker or sender has received since its last report. */
export interface PushServiceAnswers extends PushServiceKey {
  readonly accepted: number;
  /** True if the push service has refused our token or key, even if it accepted a later message. */
  readonly hasRefused: boolean;
  /** Number of refusals since the last acceptance. */
  readonly refusalsInRow: number;
  /** A stored subscription whose message was accepted. */
  readonly acceptedSubscriptionId?: number | undefined;
  /** Stored subscriptions for which the push service refused our token or key. */
  readonly refusedSubscriptionIds?: readonly number[] | undefined;
  /** Stored subscriptions whose messages are rejected because the push service refused the messages too often. */
  readonly rejectedSubscriptionIds?: readonly number[] | undefined;
  /** How long the push service has asked senders to wait, from now. */
  readonly waitMs?: number | undefined;
}

export const suspensionPolicy = {
  refusalsToSuspend: 20,
  /** Each wrong suspension doubles `refusalsToSuspend`, but not beyond this number. */
  maxRefusalsToSuspend: 640,
  probeRows: 4,
  /** At most this many of the probes are rows that were accepted before. */
  knownProbeRows: 2,
  /** Number of accepted rows that are remembered per push service and key. */
  rememberedRows: 64,
  /** The pause after each of the first `quickDraws` probes. */
  probePauseMs: 250,
  quickDraws: 20,
  /** The longest pause between probes. After `quickDraws` probes, each pause is twice as long as the one before. */
  maxProbePauseMs: 2 * 60 * 1000,
  /** A row is rejected after this many refusals if other rows are accepted meanwhile. */
  maxRefusals: 5,
  /** If a push service refuses all rows for this long, rows that it has never accepted are rejected. */
  patienceMs: 60 * 60 * 1000,
  /** The longest wait that a sender stores. A later end was stored while the clock was ahead, and is ignored. */
  maxWaitMs: 60 * 60 * 1000,
  /** Number of rows to probe at once after `patienceMs`, so that every row gets its own response. */
  lastProbeRows: 100,
} as const;

/** Upper limit of the numbers by which probes are drawn, lowest first. Rows accepted before get negative numbers. */
export const drawOrderEnd = 2 ** 49;

/** What to do if the push service refuses the row again. */
export type IfRefused = 'suspend' | 'retry' | 'reject';

/** A row that was refused or was selected as a probe. */
export interface RefusedRow {
  readonly refusals: number;
  /** Time since the first refusal of the row, or since the suspension began. */
  readonly waitedMs: number;
  /** True if the push service has accepted other rows during this time. */
  readonly othersAccepted: boolean;
  /**
   * True if the push service, since it last accepted a message, has refused only messages to subscriptions for which it
   * has never accepted one.
   */
  readonly onlyNeverAccepted: boolean;
  /** True if a push service has accepted messages with this key. */
  readonly isKeyGood: boolean;
}

export function decideRefusal({
  refusals,
  waitedMs,
  othersAccepted,
  onlyNeverAccepted,
  isKeyGood,
}: RefusedRow): IfRefused {
  if (othersAccepted) return refusals + 1 >= suspensionPolicy.maxRefusals ? 'reject' : 'retry';
  return waitedMs >= suspensionPolicy.patienceMs && onlyNeverAccepted && isKeyGood ? 'reject' : 'suspend';
}

// Rate limits of push services, for all workers of all processes together. Each worker requests permits for a fraction
// of a second, and reports how many of its rows wait.

/** Unused permits are saved: as many as the rate limit grants in this many seconds, but at least one. */
export const burstSeconds = 0.25;

/** Requests may arrive out of order, but not by more than this time. */
const maxDisorderMs = 1000;

/** A queue that sends no messages for this long is ignored, because its broadcast was paused or cancelled. */
const abandonedAfterMs = 5000;

export interface RateRequest {
  /** An origin as `URL.origin` returns it. */
  readonly origin: string;
  /** The limit in messages per second. */
  readonly perSecond: number;
  /** Number of messages that the worker could send now. */
  readonly wanted: number;
  /** Number of rows that the rate limit has held back since the worker's last request. These rows join the queue. */
  readonly rateLimited: number;
}

export interface RateShare {
  /** Number of messages that may be sent now, at most `wanted`. */
  readonly permits: number;
  /** How long it takes to send the waiting rows of all workers at this rate; 0 if no rows wait. */
  readonly queueMs: number;
}

export type RateShares = ReturnType<typeof createRateShares>;

interface LimitRow {
  readonly permits: number;
  readonly refilled_at_ms: number;
  readonly queued_until_ms: number;
  readonly sent_at_ms: number;
}

export const createRateShares = (database: PortableDatabase) => ({
  take: (request: RateRequest) => database.background(() => take(request, database.now())),
});

/**
 * If the clock was set back after the limit was stored, replaces the stored times by the present time. Otherwise,
 * nothing would be sent until the clock reaches the stored times.
 */
const asOf = (nowMs: number, row: LimitRow): LimitRow =>
  row.refilled_at_ms <= nowMs + maxDisorderMs
    ? row
    : { permits: row.permits, refilled_at_ms: nowMs, queued_until_ms: nowMs, sent_at_ms: nowMs };

function* take({ origin, perSecond, wanted, rateLimited }: RateRequest, nowMs: number): Work<RateShare> {
  const burst = Math.max(1, perSecond * burstSeconds);
  // if the row exists, the insert changes nothing but locks it
  const [row] = yield* run<LimitRow>(
    `insert into deskbell.rate_limits (origin, permits, refilled_at_ms, queued_until_ms, sent_at_ms)
     values (:origin, :burst, :nowMs, :nowMs, :nowMs)
     on conflict (origin) do update set origin = excluded.origin
     returning permits, refilled_at_ms, queued_until_ms, sent_at_ms`,
    { origin, burst, nowMs },
  );
  const known = asOf(nowMs, row!);
  const elapsedMs = Math.max(0, nowMs - known.refilled_at_ms);
  const saved = Math.min(burst, known.permits + (elapsedMs * perSecond) / 1000);
  const permits = Math.min(wanted, Math.floor(saved));
  const intervalMs = 1000 / perSecond;
  const isAbandoned = nowMs - known.sent_at_ms > Math.max(abandonedAfterMs, 2 * intervalMs);
  const queueStartMs = isAbandoned ? nowMs : Math.max(nowMs, known.queued_until_ms);
  const queuedUntilMs = Math.ceil(queueStartMs + rateLimited * intervalMs);
  yield* run(
    `update deskbell.rate_limits set permits = :permits, refilled_at_ms = :refilledAtMs,
       queued_until_ms = :queuedUntilMs, sent_at_ms = :sentAtMs
     where origin = :origin`,
    {
      origin,
      permits: saved - permits,
      refilledAtMs: Math.max(nowMs, known.refilled_at_ms),
      queuedUntilMs,
      sentAtMs: permits > 0 || isAbandoned ? nowMs : known.sent_at_ms,
    },
  );
  return { permits, queueMs: queuedUntilMs - nowMs };
}
