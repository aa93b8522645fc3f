// The push service's limits. It keeps everything in memory, so everything has a limit.

const defaultLimits = {
  /** Bytes in the body of one push message (RFC 8030 §7.2: at least 4096). Above the limit: 413, errno 104. */
  maxBodyBytes: 4096,
  /** Undelivered messages per subscription. Above the limit: 429, errno 201. */
  maxMessagesPerSubscription: 100,
  /** Bytes of all undelivered messages together. Above the limit: 503, errno 201. */
  maxStoredBytes: 64 * 1024 * 1024,
  /** Subscriptions of user agents. Above the limit, `register` fails with status 503. */
  maxSubscriptions: 100_000,
  /** Subscriptions without a user agent, in all batches together (4 bytes each). Above the limit: a RangeError. */
  maxSinks: 10_000_000,
  /** Open connections of senders and user agents together. Connections above the limit are dropped. */
  maxConnections: 10_000,
  /** Open streams per HTTP/2 connection, announced in SETTINGS. */
  maxConcurrentStreams: 100,
  /** Seconds. A longer TTL is reduced to this, and the response's `ttl` says so (RFC 8030 §5.2). */
  maxTtlSeconds: 30 * 24 * 60 * 60,
};

/** Limits on what the push service stores and accepts. */
export type Limits = Readonly<typeof defaultLimits>;

/** @throws {RangeError} if a limit is unknown or not a positive integer */
export function withDefaultLimits(given: Partial<Limits>): Limits {
  checkNames('limit', given, defaultLimits);
  for (const [name, value] of Object.entries(given)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`limit ${name} must be a positive integer, not ${String(value)}`);
    }
  }
  return { ...defaultLimits, ...given };
}

/** Refuses unknown options, because JavaScript callers would otherwise not notice a misspelled one. */
export type Names<Options> = { readonly [Name in keyof Options]-?: unknown };

/**
 * @param kind what a name stands for, such as `option`; appears in the error
 * @throws {RangeError} with the first unknown name and all known names
 */
export function checkNames<Options>(kind: string, given: object, known: Names<Options>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new RangeError(`unknown ${kind} "${unknown}"; there are: ${Object.keys(known).join(', ')}`);
}
