// What operators have changed: one record for each request that changes something. It is written before the change, so that
// no change is without one, and completed with the status of the answer. Types only.

export interface AuditRecord {
  /** Ascending. */
  readonly id: number;
  readonly atMs: number;
  /** Name of the operator. It stays when the operator is removed. */
  readonly operator: string;
  /** What was done, such as `broadcast.pause`. */
  readonly action: string;
  /** To what, such as `broadcast 7`. A person is named by a keyed hash. */
  readonly target?: string | undefined;
  /** HTTP status of the answer; absent where the process ended before there was one. */
  readonly status?: number | undefined;
}

export interface AuditStore {
  /** @returns the record's id, once it is durable */
  begin(record: {
    readonly operator: string;
    readonly action: string;
    readonly target?: string | undefined;
  }): Promise<number>;
  /** @param target replaces what `begin` was given, where the change itself has made it */
  finish(
    id: number,
    outcome: { readonly status: number; readonly target?: string | undefined },
  ): Promise<void>;
  /** Newest first. */
  list(range: {
    readonly beforeId?: number | undefined;
    readonly limit: number;
  }): Promise<readonly AuditRecord[]>;
}
