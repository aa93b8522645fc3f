// What all workers and processes know of push services' answers. A push service that refuses our token or key refuses all messages, so
// it need not be asked for each row. But a stranger may have registered rows that are refused whatever the token is, so a refusal
// alone is never final.
//
//   push service   OPEN  messages are sent. `refusalsToSuspend` refusals in a row, without an acceptance → SUSPENDED
//                  SUSPENDED  rows are stored as suspended. Now and then a few of them are drawn as probes: rows that the push
//                        service accepted before, as far as there are any, and others; of each, those that it has not
//                        refused before those that it has, and otherwise at random. One acceptance → OPEN:
//                        what was suspended is due at once, and the next suspension takes twice as many refusals. If no
//                        row is left to be drawn, however they ended → OPEN: whoever sends next finds out
//
//   refused row    while SUSPENDED: back among the suspended rows
//                  while OPEN: tried again, later each time. `decideRefusal` says what a further refusal means:
//                    suspend nothing has been accepted since: it counts towards a suspension
//                    retry   others were accepted since: it is the row's own and counts for nothing else
//                    reject  the same, and it has been refused `maxRefusals` times. Or nothing was accepted for `patienceMs`, by
//                            a push service that refuses no row it accepted before, with a key that is good elsewhere:
//                            then these rows are strangers', as far as anybody can know
//
// If no push service has accepted a message with this key, the key may be wrong: rows wait until their time ends.
//
// A push service that asks one sender to wait (429 or 503 with `Retry-After`) is asking the application server, so that all wait.
//
// Types, numbers and the one decision that both databases leave to their caller.
import { type PortableDatabase, run, type Work } from './portable-sql.ts';

/** A push service as the holder of one VAPID key sees it. */
export interface PushServiceKey {
  readonly origin: string;
  /** The key that signed. */
  readonly vapidPublicKey: string;
}

export interface PushServiceState extends PushServiceKey {
  readonly isSuspended: boolean;
  /** Refusals in a row that suspend it. */
  readonly refusalsToSuspend: number;
  /** It has accepted a message with this key. Of those that are not suspended and have not asked to wait, only unlisted ones are told. */
  readonly hasAccepted: boolean;
  /** How long it has asked senders to wait, from now (`Retry-After`); 0: it has not. All senders do. */
  readonly waitMs: number;
}

/** The answers that one worker or sender has got since its last report. */
export interface PushServiceAnswers extends PushServiceKey {
  readonly accepted: number;
  /** It has refused our token or key, if only before an acceptance. */
  readonly hasRefused: boolean;
  /** The refusals since the last acceptance. */
  readonly refusalsInRow: number;
  /** A stored subscription that was accepted. */
  readonly acceptedSubscriptionId?: number | undefined;
  /** Stored subscriptions for which it refused our token or key. */
  readonly refusedSubscriptionIds?: readonly number[] | undefined;
  /** Stored subscriptions whose messages are rejected since they were refused. */
  readonly rejectedSubscriptionIds?: readonly number[] | undefined;
  /** How long it has asked senders to wait, from now. */
  readonly waitMs?: number | undefined;
}

export const suspensionPolicy = {
  refusalsToSuspend: 20,
  /** It doubles with each suspension that was wrong, up to this. */
  maxRefusalsToSuspend: 640,
  probeRows: 4,
  /** How many of these may be rows that were accepted before. */
  knownProbeRows: 2,
  /** Rows accepted before that are remembered for each push service and key. */
  rememberedRows: 64,
  /** Probes are drawn at this pace at first. */
  probePauseMs: 250,
  quickDraws: 20,
  /** Then each pause is twice as long as the one before, up to this. */
  maxProbePauseMs: 2 * 60 * 1000,
  /** A row that is refused so often while others are accepted is rejected. */
  maxRefusals: 5,
  /** How long rows wait for a push service that refuses all of them, although everything suggests that the rows are at fault. */
  patienceMs: 60 * 60 * 1000,
  /** Drawn at once after that, so that each row is asked for itself. */
  lastProbeRows: 100,
} as const;

/** Draw orders are below this; those of rows that were accepted before are less by it. The lowest become probes first. */
export const drawOrderEnd = 2 ** 49;

/** What a further refusal of the row means. */
export type IfRefused = 'suspend' | 'retry' | 'reject';

/** A row that was refused, or is drawn as a probe. */
export interface RefusedRow {
  /** Refusals so far. */
  readonly refusals: number;
  /** Since its first refusal, or the beginning of the suspension. */
  readonly waitedMs: number;
  /** Its push service has accepted others since. */
  readonly othersAccepted: boolean;
  /** Its push service has not refused a row that it accepted before, since it last accepted anything. */
  readonly onlyNeverAccepted: boolean;
  /** A push service has accepted messages with this key. */
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

// Rate limits of push services, for all workers of all processes together. Workers take shares of a fraction of a second, and say how
// many rows wait.

/** What may be saved up, as seconds of the rate; at least one message. */
export const burstSeconds = 0.25;

/** After this long without a message there is no queue: its broadcast was paused or cancelled. */
const abandonedAfterMs = 5000;

export interface RateRequest {
  /** As `URL.origin` gives it. */
  readonly origin: string;
  /** The limit: messages per second. */
  readonly perSecond: number;
  /** Messages that the worker could send now. */
  readonly wanted: number;
  /** Rows that the worker found over the limit since its last request: each lengthens the queue by one. */
  readonly rateLimited: number;
}

export interface RateShare {
  /** Messages that may be sent now, at most `wanted`. */
  readonly permits: number;
  /** Until when, from now, the rows of all workers that wait take all of the rate; 0: there are none. */
  readonly queueMs: number;
}

export interface RateShares {
  take(request: RateRequest): Promise<RateShare>;
}

interface LimitRow {
  readonly permits: number;
  readonly refilled_at_ms: number;
  readonly queued_until_ms: number;
  readonly sent_at_ms: number;
}

export const createRateShares = (database: PortableDatabase): RateShares => ({
  take: (request) => database.background(() => take(request, database.now())),
});

function* take({ origin, perSecond, wanted, rateLimited }: RateRequest, nowMs: number): Work<RateShare> {
  const burst = Math.max(1, perSecond * burstSeconds);
  // it changes nothing if there is a row, which nobody else changes from then on
  const [row] = yield* run<LimitRow>(
    `insert into deskbell.rate_limits (origin, permits, refilled_at_ms, queued_until_ms, sent_at_ms)
     values (:origin, :burst, :nowMs, :nowMs, :nowMs)
     on conflict (origin) do update set origin = excluded.origin
     returning permits, refilled_at_ms, queued_until_ms, sent_at_ms`,
    { origin, burst, nowMs },
  );
  const known = row!;
  // of two requests, the one that was asked for earlier may come later
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
