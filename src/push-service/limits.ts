// The push service's limits. Everything is in memory, so everything is bounded.

const defaultLimits = {
  /** Body of one push message, bytes (RFC 8030 §7.2: at least 4096). Over it: 413, errno 104. */
  maxBodyBytes: 4096,
  /** Undelivered messages of one subscription. Over it: 429, errno 201. */
  maxMessagesPerSubscription: 100,
  /** All undelivered messages together, bytes. Over it: 503, errno 201. */
  maxStoredBytes: 64 * 1024 * 1024,
  /** Subscriptions of user agents. Over it: a `register` is answered with status 503. */
  maxSubscriptions: 100_000,
  /** Subscriptions without a user agent, of all batches together (4 bytes each). Over it: a RangeError. */
  maxSinks: 10_000_000,
  /** Open connections of senders and user agents together. Over it: the connection is dropped. */
  maxConnections: 10_000,
  /** Streams open at a time on one HTTP/2 connection, announced in SETTINGS. */
  maxConcurrentStreams: 100,
  /** TTL, seconds; a longer one is cut to it and the answer's `ttl` says so (RFC 8030 §5.2). */
  maxTtlSeconds: 30 * 24 * 60 * 60,
};

/** The most that the push service stores and accepts. */
export type Limits = Readonly<typeof defaultLimits>;

/** @throws {RangeError} a limit is unknown or not a positive integer */
export function withDefaultLimits(given: Partial<Limits>): Limits {
  checkNames('limit', given, defaultLimits);
  for (const [name, value] of Object.entries(given)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`limit ${name} must be a positive integer, not ${String(value)}`);
    }
  }
  return { ...defaultLimits, ...given };
}

// Refuses unknown options, since a caller in JavaScript would wait for their effect.

export type Names<Options> = { readonly [Name in keyof Options]-?: unknown };

/** @param kind of option @throws {RangeError} names the first unknown option, and the known ones */
export function checkNames<Options>(kind: string, given: object, known: Names<Options>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new RangeError(`unknown ${kind} "${unknown}"; there are: ${Object.keys(known).join(', ')}`);
}
