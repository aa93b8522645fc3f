// The header fields of a push request (RFC 8030 §5, RFC 8188, RFC 8292), including the special rules of some push
// services. The body is the encrypted message; the transport adds `content-length`.
import { createHash } from 'node:crypto';

import { checkOptions, type OptionChecks, typeOf } from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { assertInteger } from './check-arguments.ts';
import { isWindowsPushService } from './known-push-services.ts';

/** The urgencies of RFC 8030 §5.3, the least urgent first. */
export const urgencies = ['very-low', 'low', 'normal', 'high'] as const;
/** The urgency of a message decides whether it wakes a device (RFC 8030 §5.3). */
export type Urgency = (typeof urgencies)[number];

/** The default TTL: four weeks. Push services keep a message for four weeks at most. */
export const defaultTtlSeconds = 28 * 24 * 60 * 60;

/** Options for delivering a push message. */
export interface PushOptions {
  /**
   * How long the push service keeps the message for an offline user agent, in seconds: 0 to 2^31 - 1. Default: four
   * weeks.
   */
  readonly ttlSeconds?: number | undefined;
  /** Default: `normal`. */
  readonly urgency?: Urgency | undefined;
  /** Any label. A later message replaces an earlier message that has the same topic and is still undelivered. */
  readonly topic?: string | undefined;
}

/** RFC 8030 §5.2: push services accept at least 2^31 - 1. */
const ttlBounds = { name: 'ttlSeconds', min: 0, max: 2 ** 31 - 1 };
/** RFC 8030 §5.4. */
export const maxTopicCharacters = 32;

export const pushOptionChecks: OptionChecks<PushOptions> = {
  ttlSeconds: (value) => assertInteger('ERR_MESSAGE_INVALID', value, ttlBounds),
  urgency(value) {
    if ((urgencies as readonly unknown[]).includes(value)) return;
    const what = typeof value === 'string' ? JSON.stringify(value) : `of type ${typeOf(value)}`;
    throw invalid(`urgency is ${what}; give one of ${urgencies.join(', ')}.`);
  },
  topic: assertTopic,
};

/**
 * Checks the options of a push message.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function checkPushOptions(options: PushOptions): void {
  checkOptions(options, pushOptionChecks, { code: 'ERR_MESSAGE_INVALID' });
}

/**
 * Makes the header fields of a push request. Names are in lower case.
 *
 * @param authorization from a `VapidAuthorizer`, for this origin
 * @param origin the endpoint's origin; Windows' push service needs a caching field
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function pushHeaders(
  options: PushOptions,
  authorization: string,
  origin: string,
): Readonly<Record<string, string>> {
  checkPushOptions(options);
  const { ttlSeconds = defaultTtlSeconds, urgency = 'normal', topic } = options;
  return {
    ttl: String(ttlSeconds),
    urgency,
    ...(topic === undefined ? {} : { topic: toTopic(topic) }),
    'content-encoding': 'aes128gcm',
    'content-type': 'application/octet-stream',
    authorization,
    ...(isWindowsPushService(origin)
      ? { 'x-wns-cache-policy': ttlSeconds === 0 ? 'no-cache' : 'cache' }
      : {}),
  };
}

/**
 * Turns any label into a legal topic. If the label is a legal topic, returns the label unchanged. If the label is not a
 * legal topic, returns 32 characters of its SHA-256. A topic has at most 32 base64url characters. A topic must not have
 * 1, 5, 9, … characters, because Apple decodes it, and no base64url text has such a length.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID if the label is not a string
 * @see RFC 8030 §5.4
 */
export function toTopic(label: string): string {
  assertTopic(label);
  const isLegal =
    /^[A-Za-z0-9_-]+$/.test(label) && label.length <= maxTopicCharacters && label.length % 4 !== 1;
  return isLegal
    ? label
    : createHash('sha256').update(label).digest('base64url').slice(0, maxTopicCharacters);
}

function assertTopic(topic: unknown): void {
  if (typeof topic !== 'string') throw invalid(`topic is of type ${typeOf(topic)}; give a string.`);
}

const invalid = (message: string): DeskbellError => new DeskbellError('ERR_MESSAGE_INVALID', message);
