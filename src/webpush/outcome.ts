// What the answer of a push service means. Vendors differ in how they say it; all of that stands here.
import { isWindowsPushService } from './vendor.ts';

/** Why a message will be tried again. */
export type RetryReason =
  /** 429, and how Windows' push service says the same. */
  | 'throttled'
  /** 5xx: a run of them should open the origin's breaker. */
  | 'server-error'
  /** 408, 421, 425: this request met a passing condition. */
  | 'not-handled'
  /** No answer: network, TLS or time-out. Made by the sender, never by `readResponse`. */
  | 'connection'
  /** Nothing was sent, since the origin is being spared. Made by the sender, never by `readResponse`. */
  | 'deferred';

/** Why a message will not be tried again. */
export type RejectionReason =
  /** 400 and the like: the push service does not accept the request itself. */
  | 'bad-request'
  | 'bad-encryption'
  | 'bad-ttl'
  | 'bad-topic'
  | 'bad-urgency'
  /** WNS: the cache policy and the TTL contradict each other. */
  | 'cache-policy'
  /** The subscription was made with another VAPID key: sign with the row's own, or wait until its page re-subscribes. */
  | 'vapid-key-mismatch'
  /** The push service accepts no token of ours (401, 403). */
  | 'vapid-refused'
  | 'payload-too-large'
  /** WNS took the request and dropped the message. */
  | 'dropped'
  | 'redirected'
  /** The address is not one to connect to. Made by the sender, never by `readResponse`. */
  | 'address-blocked'
  | 'unexpected-status';

/** What came of one attempt. */
export type Outcome =
  | {
      /** The push service took the message over. Not: it was shown. */
      readonly kind: 'accepted';
      /** Absolute URL of the message at the push service (RFC 8030 §5). A capability, like the endpoint. */
      readonly messageUrl?: string;
      /** The push service's own name of the message (`apns-id`, `x-wns-msg-id`). */
      readonly messageId?: string;
    }
  | {
      /** The subscription has ended: delete it. */
      readonly kind: 'gone';
      /** The push service's own words, at most 200 characters. */
      readonly detail?: string;
    }
  | {
      /** Keep the subscription and try again, never past the TTL. */
      readonly kind: 'retry';
      readonly reason: RetryReason;
      /** Told by `Retry-After`: not before that. */
      readonly afterMs?: number;
      /** The whole origin asks for fewer messages, not only this subscription. */
      readonly slowsOrigin: boolean;
      /** The request may have reached the push service all the same: a repeat may be delivered twice. */
      readonly isInDoubt?: boolean;
      readonly detail?: string;
    }
  | {
      /** Keep the subscription and do not repeat this message. */
      readonly kind: 'rejected';
      readonly reason: RejectionReason;
      /** `message`: this message for this subscription. `origin`: every further message there would fare the same. */
      readonly scope: 'message' | 'origin';
      /** An operator should hear of it: once per origin and reason. */
      readonly isAlarm: boolean;
      readonly detail?: string;
    };

export interface ResponseFacts {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body as text. */
  readonly body: string;
}

export interface ResponseContext {
  /** The clock, in milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly nowMs: number;
}

const maxDetailCharacters = 200;
/** Four weeks, the longest that a message lives by default: no `Retry-After` is worth more. */
const maxRetryAfterMs = 28 * 24 * 60 * 60 * 1000;

/** How the push services say that a subscription was made with another VAPID key: Apple, FCM old and new, Mozilla. */
const keyMismatch =
  /VapidPkHashMismatch|UnauthorizedRegistration|credentials used to create the subscription|does not correspond to the sender ID|VAPID public key mismatch/i;

/** `errno` of autopush's JSON bodies. */
const autopushErrnos: ReadonlyMap<number, RejectionReason> = new Map([
  [110, 'bad-encryption'],
  [111, 'bad-ttl'],
  [113, 'bad-topic'],
]);

/** `reason` of Apple's JSON bodies. */
const appleReasons: ReadonlyMap<string, RejectionReason> = new Map([
  ['BadTtl', 'bad-ttl'],
  ['BadUrgency', 'bad-urgency'],
  ['BadWebPushTopic', 'bad-topic'],
]);

/**
 * Tells what an answer means. Vendors are told apart by what they say rather than by their host, since autopush is
 * hosted by others too; only WNS's meaning of 403 needs the origin.
 *
 * @param origin of the endpoint that the message was posted to
 * @see RFC 8030 §5, §8.4; RFC 8292 §4.2
 */
export function readResponse(origin: string, response: ResponseFacts, { nowMs }: ResponseContext): Outcome {
  const { status, headers } = response;
  const said = readBody(response);
  const detail = said.text === '' ? {} : { detail: said.text };

  const retry = (reason: RetryReason, slowsOrigin: boolean): Outcome => {
    const afterMs = readRetryAfterMs(headers['retry-after'], nowMs);
    return { kind: 'retry', reason, slowsOrigin, ...(afterMs === undefined ? {} : { afterMs }), ...detail };
  };
  const reject = (
    reason: RejectionReason,
    scope: 'message' | 'origin' = 'message',
    isAlarm = true,
  ): Outcome => ({
    kind: 'rejected',
    reason,
    scope,
    isAlarm,
    ...detail,
  });

  if (status >= 200 && status <= 299) {
    const windowsStatus = headers['x-wns-status'] ?? headers['x-wns-notificationstatus'];
    if (windowsStatus === 'channelthrottled') return retry('throttled', true);
    if (windowsStatus === 'dropped') return reject('dropped', 'message', false);
    return accepted(origin, headers);
  }
  if (status >= 300 && status <= 399) return reject('redirected');
  if (status >= 500 && status <= 599) return retry('server-error', status === 503);

  // One subscription made with another key says nothing about the others: anyone can register such a one.
  if ((status === 400 || status === 401 || status === 403) && keyMismatch.test(said.text)) {
    return reject('vapid-key-mismatch');
  }
  switch (status) {
    case 400:
      return reject(said.reason ?? 'bad-request');
    case 401:
      return reject('vapid-refused', 'origin');
    case 403:
      // WNS: "not authorized to send to this channel, even though authenticated".
      return isWindowsPushService(origin) ? reject('vapid-key-mismatch') : reject('vapid-refused', 'origin');
    case 404:
    case 410:
      return { kind: 'gone', ...detail };
    case 406: // WNS' old way to say 429
    case 429:
      return retry('throttled', true);
    case 408:
    case 421:
    case 425:
      return retry('not-handled', false);
    case 413:
      return reject('payload-too-large');
    default:
      return reject('unexpected-status');
  }
}

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3): seconds or an HTTP date.
 *
 * @returns at most four weeks; 0 for a date that has passed; `undefined` for none or nonsense
 */
export function readRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // The three forms of an HTTP date begin with the day's name; Date.parse alone takes almost anything for a date.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  // The oldest form names no zone, and means GMT all the same.
  const afterMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - nowMs;
  return Number.isNaN(afterMs) ? undefined : Math.min(Math.max(afterMs, 0), maxRetryAfterMs);
}

function accepted(origin: string, headers: ResponseFacts['headers']): Outcome {
  const location = headers['location'];
  const messageUrl = location === undefined ? undefined : URL.parse(location, origin)?.href;
  const messageId = headers['apns-id'] ?? headers['x-wns-msg-id'];
  return {
    kind: 'accepted',
    ...(messageUrl === undefined ? {} : { messageUrl }),
    ...(messageId === undefined ? {} : { messageId }),
  };
}

/** What the push service says in words, and the reason where it names one that we know. */
function readBody({ headers, body }: ResponseFacts): { text: string; reason?: RejectionReason } {
  const windowsDescription = headers['x-wns-error-description'];
  if (windowsDescription !== undefined) {
    const text = clean(windowsDescription);
    return /cache.?policy/i.test(text) ? { text, reason: 'cache-policy' } : { text };
  }
  const json = parseObject(body);
  if (json === undefined) return { text: clean(/<title>([^<]*)<\/title>/i.exec(body)?.[1] ?? body) };

  const { reason: appleReason, errno, message, error } = json;
  if (typeof appleReason === 'string') {
    const reason = appleReasons.get(appleReason);
    return reason === undefined ? { text: clean(appleReason) } : { text: clean(appleReason), reason };
  }
  const words = [message, error].find((text) => typeof text === 'string') ?? '';
  if (typeof errno !== 'number') return { text: clean(words) };
  const reason = autopushErrnos.get(errno);
  const text = clean(`errno ${errno}: ${words}`);
  return reason === undefined ? { text } : { text, reason };
}

function parseObject(body: string): Record<string, unknown> | undefined {
  if (!body.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** One line for a log: no control characters, and no URL beyond its origin, for it could be an endpoint. */
function clean(text: string): string {
  const line = text
    .replaceAll(/(https?:\/\/[^\s/"'<>]+)\/[^\s"'<>]*/g, '$1/…')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length > maxDetailCharacters ? `${line.slice(0, maxDetailCharacters - 1)}…` : line;
}
