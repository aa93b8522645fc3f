// Reads why a push service refused a message. Windows gives the reason in a header field, Apple and autopush in JSON,
// FCM in text or HTML. The format is recognised from the response, not from the host, because anyone can host autopush.
import { cutText } from '../errors/untrusted-text.ts';
import { parseJsonObject } from './json-object.ts';

type Headers = Readonly<Record<string, string>>;

/** The reason why a message will not be retried. */
export type RejectionReason =
  /** 400 and similar: the push service does not accept the request. */
  | 'bad-request'
  | 'bad-encryption'
  | 'bad-ttl'
  | 'bad-topic'
  | 'bad-urgency'
  /** WNS: the cache policy and the TTL contradict each other. */
  | 'cache-policy'
  /** The subscription was made with another VAPID key. Sign with that key, or wait until the page subscribes again. */
  | 'vapid-key-mismatch'
  /** The push service accepts none of our tokens (401, 403). */
  | 'vapid-refused'
  | 'payload-too-large'
  /** WNS accepted the request but dropped the message. */
  | 'dropped'
  | 'redirected'
  /** The address of an unlisted host is not allowed. Set by the sender, never by `readResponse`. */
  | 'address-blocked'
  /** A placeholder without a default no longer has a value. Set by the sender, never by `readResponse`. */
  | 'no-value'
  | 'unexpected-status';

export interface Rejection {
  readonly text: string;
  readonly reason?: RejectionReason | undefined;
}

const maxDetailCharacters = 200;
/** Matches errors of Apple, FCM (old and new) and Mozilla for a subscription that was made with another VAPID key. */
const keyMismatch =
  /VapidPkHashMismatch|UnauthorizedRegistration|credentials used to create the subscription|does not correspond to the sender ID|VAPID public key mismatch/i;

/** Meanings of `errno` in autopush's JSON bodies. */
const autopushErrnos: ReadonlyMap<number, RejectionReason> = new Map([
  [110, 'bad-encryption'],
  [111, 'bad-ttl'],
  [113, 'bad-topic'],
]);

/** Meaning of `reason` in Apple's JSON bodies. */
const appleReasons: ReadonlyMap<string, RejectionReason> = new Map([
  ['BadTtl', 'bad-ttl'],
  ['BadUrgency', 'bad-urgency'],
  ['BadWebPushTopic', 'bad-topic'],
]);

/**
 * Reads why the push service refused a request.
 *
 * @returns `text`: one line of at most 200 characters without paths, tokens, control characters or lone surrogates;
 *   empty if the response has no text. `reason`: set if the push service gives a reason that we know.
 */
export function readRejection({
  headers,
  body,
}: {
  readonly headers: Headers;
  readonly body: string;
}): Rejection {
  const rejection = readAnyRejection(headers, body);
  return keyMismatch.test(rejection.text) ? { ...rejection, reason: 'vapid-key-mismatch' } : rejection;
}

function readAnyRejection(headers: Headers, body: string): Rejection {
  const windowsDescription = headers['x-wns-error-description'];
  if (windowsDescription !== undefined) {
    const text = clean(windowsDescription);
    return { text, reason: /cache.?policy/i.test(text) ? 'cache-policy' : undefined };
  }
  const json = parseJsonObject(body);
  if (json === undefined) return { text: clean(/<title>([^<]*)<\/title>/i.exec(body)?.[1] ?? body) };

  const { reason: appleReason, errno, message, error } = json;
  if (typeof appleReason === 'string') {
    return { text: clean(appleReason), reason: appleReasons.get(appleReason) };
  }
  const words = [message, error].find((text) => typeof text === 'string') ?? '';
  if (typeof errno !== 'number') return { text: clean(words) };
  return { text: clean(`errno ${errno}: ${words}`), reason: autopushErrnos.get(errno) };
}

/** Matches a URL in two parts: its origin, and the rest, which is removed because endpoints are secret. */
const urls = /(https?:\/\/[^\s/"'<>]+)\/[^\s"'<>]*/gi;
const paths = /(^|[\s"'(=:])\/(?!\/)[^\s"'<>)]*/g;
/** Matches tokens, keys and signatures, which are longer than ordinary words. */
const longWords = /[\w%+=~:-]{40,}/g;

/** Makes a text safe to log: one line without control characters, paths or tokens. */
function clean(text: string): string {
  const line = text
    .replaceAll(urls, '$1/…')
    .replaceAll(paths, '$1/…')
    .replaceAll(longWords, '…')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return cutText(line, maxDetailCharacters);
}
