// How long the store keeps what is over. Deleting goes in steps, each a short transaction, so that nobody waits for it.
// Who reported a receipt is forgotten by `receipts.ts`. Types only.

/** Milliseconds since 1970; what is absent is kept for ever. */
export interface RetentionLimits {
  /** Broadcasts that ended before, with their counts, alarms, attempts and receipts. An idempotency key is free again then. */
  readonly broadcastsBeforeMs?: number | undefined;
  /** The attempts of broadcasts that ended before. */
  readonly attemptsBeforeMs?: number | undefined;
  /** Audit records from before. */
  readonly auditBeforeMs?: number | undefined;
  /** When persons were reached by broadcasts with a cap before, which no cap looks back to any more. */
  readonly reachesBeforeMs?: number | undefined;
}

export interface Retention {
  /** Deletes some of what is older. @returns whether there may be more */
  prune(limits: RetentionLimits): Promise<boolean>;
  /** Gives some of the room that is free in the database back to the disk. @returns whether there may be more */
  shrink(): Promise<boolean>;
}
