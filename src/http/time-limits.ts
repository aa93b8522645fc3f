export interface TimeLimits {
  /** Time for a request's headers to arrive, also counted from the start of the connection. Default: 10 000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Time for a whole request to arrive. Default: 30 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Idle time between two requests of a connection. Default: 10 000. */
  readonly keepAliveTimeoutMs?: number | undefined;
  /**
   * Time in which a client must read more of its response; the connection closes after one to two times this. Default:
   * 60 000.
   */
  readonly readTimeoutMs?: number | undefined;
  /**
   * Time for requests in progress when the server is closed; then all connections are closed. Default: 11 000, a second
   * more than a sender takes to close.
   */
  readonly closeGraceMs?: number | undefined;
  readonly timeoutCheckIntervalMs?: number | undefined;
}

export const defaultTimeLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 10_000,
  readTimeoutMs: 60_000,
  closeGraceMs: 11_000,
  timeoutCheckIntervalMs: 1000,
} as const satisfies TimeLimits;
