// What is known of the answers of push services, shared by all workers and processes. A push service that refuses our
// token or key would refuse everybody's message, and is not asked for each row; but some rows, which anybody may have
// registered, are refused whatever the token is. So nothing is concluded from rows alone that stand together:
//
//   OPEN  messages are sent. `refusalsToHold` refusals in a row, without an acceptance → HELD
//   HELD  rows are stored as held back. Now and then `probeRows` of them are drawn at random, some of them rows that
//         the push service accepted before, and sent. One acceptance → OPEN: what was held back is due at once, and
//         the next hold takes twice as many refusals. Rows that are still held back at the end of their time expire
//
// A push service that asks one sender to wait (429 or 503 with `Retry-After`) is asking the application server, so that all wait.
//
// Types and numbers only.

/** A push service as the holder of one VAPID key sees it. */
export interface PushServiceKey {
  readonly origin: string;
  /** The key that signed. */
  readonly vapidPublicKey: string;
}

export interface PushServiceState extends PushServiceKey {
  readonly isHeld: boolean;
  /** Refusals in a row that lead to a hold. */
  readonly refusalsToHold: number;
  /** How long it has asked senders to wait, from now (`Retry-After`); 0: it has not. All senders do. */
  readonly waitMs: number;
}

/** What one worker or sender has been answered since its last report. */
export interface PushServiceAnswers extends PushServiceKey {
  readonly accepted: number;
  /** Refusals of our token or key since the last acceptance. */
  readonly refusalsInRow: number;
  /** A stored subscription that was accepted. */
  readonly acceptedSubscriptionId?: number | undefined;
  /** How long it has asked to wait, from now. */
  readonly waitMs?: number | undefined;
}

export const holdPolicy = {
  refusalsToHold: 20,
  /** It doubles with each hold that was wrong, up to this. */
  maxRefusalsToHold: 640,
  probeRows: 30,
  /** How many of these may be rows that were accepted before. */
  knownProbeRows: 10,
  /** Rows accepted before that are remembered for each push service and key. */
  rememberedRows: 64,
  /** Probes are drawn at this pace at first, so that a small audience soon has answers of its own. */
  probePauseMs: 250,
  quickDraws: 40,
  /** Then each pause is twice as long as the one before, up to this. */
  maxProbePauseMs: 10 * 60 * 1000,
} as const;
