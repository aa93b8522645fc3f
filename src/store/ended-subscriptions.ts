// Subscriptions that left the store because their push service called them gone, until somebody has taken note. Types only.

/** A subscription that its push service has ended (404 or 410) and that was deleted. */
export interface EndedSubscription {
  /** As it was in the store; no other subscription gets it. */
  readonly id: number;
  readonly endpoint: string;
  /** Whose it was, where the application had said. */
  readonly user: string | undefined;
  /** When the push service said so, milliseconds since 1970. */
  readonly goneAtMs: number;
}

/** Nobody needs to take note: what is older than 30 days leaves when another one comes. */
export interface EndedSubscriptions {
  /** In the order of ids, at most `limit`. */
  list(limit: number): Promise<readonly EndedSubscription[]>;
  /** Somebody has taken note of them. */
  remove(ids: readonly number[]): Promise<void>;
}
