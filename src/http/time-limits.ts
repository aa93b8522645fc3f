// How long a client may take: with its headers, its whole request, between two requests, with reading a response, and when the
// server is closed.

export interface TimeLimits {
  /** Time for the headers of a request to arrive, also from the start of the connection. Default: 10 000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Time for a whole request to arrive. Default: 30 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Idle time between two requests of one connection. Default: 10 000. */
  readonly keepAliveTimeoutMs?: number | undefined;
  /** Time for a client to read more of its response; the connection is closed after once to twice this time. Default: 60 000. */
  readonly readTimeoutMs?: number | undefined;
  /**
   * Time for requests that are under way when the server is closed; then all connections are closed. Default: 11 000, a second more
   * than a sender takes to close.
   */
  readonly closeGraceMs?: number | undefined;
  /** Interval of checking the first two. Default: 1000. */
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
