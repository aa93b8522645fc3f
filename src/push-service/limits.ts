// How much the push service holds at most. Everything is in memory, so everything has a bound and a refusal
// that names it.
import { checkNames } from './check-names.ts';

/** What the push service stores and takes at most. */
export interface Limits {
  /** Body of one push message, bytes (RFC 8030 §7.2: at least 4096). Over it: 413, errno 104. */
  readonly maxBodyBytes: number;
  /** Undelivered messages of one subscription. Over it: 429, errno 201. */
  readonly maxMessagesPerSubscription: number;
  /** All undelivered messages together, bytes. Over it: 503, errno 201. */
  readonly maxStoredBytes: number;
  /** Subscriptions of user agents. Over it: a `register` is answered with status 503. */
  readonly maxSubscriptions: number;
  /** Subscriptions without a user agent, of all batches together (4 bytes each). Over it: a RangeError. */
  readonly maxSinks: number;
  /** Open connections of senders and user agents together. Over it: the connection is dropped. */
  readonly maxConnections: number;
  /** Streams open at a time on one HTTP/2 connection, announced in SETTINGS. */
  readonly maxConcurrentStreams: number;
  /** TTL, seconds; a longer one is cut to it and the answer's `ttl` says so (RFC 8030 §5.2). */
  readonly maxTtlSeconds: number;
}

export const defaultLimits: Limits = {
  maxBodyBytes: 4096,
  maxMessagesPerSubscription: 100,
  maxStoredBytes: 64 * 1024 * 1024,
  maxSubscriptions: 100_000,
  maxSinks: 10_000_000,
  maxConnections: 10_000,
  maxConcurrentStreams: 100,
  maxTtlSeconds: 30 * 24 * 60 * 60,
};

/**
 * Puts given limits in the place of the defaults.
 *
 * @throws {RangeError} a limit is unknown or not a positive integer
 */
export function withDefaultLimits(given: Partial<Limits>): Limits {
  checkNames('limit', given, defaultLimits);
  for (const [name, value] of Object.entries(given)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`limit ${name} must be a positive integer, not ${String(value)}`);
    }
  }
  return { ...defaultLimits, ...given };
}
