// What came of a message, by who decides it. Nothing else ends a message:
//
//   the push service answered         its status says what that means; refusals that may pass are tried again, ten times in all
//   a check of message, subscription  final
//   nobody: it was written, and no answer came that can be read
//                                     in doubt: it may have arrived. It is repeated three times, then it stays in doubt
//   this side: it was not written     nothing that fails here says anything of the message: it waits, and counts as no attempt
//
// Its TTL ends every message, the frequency cap keeps some back, and a person may cancel: that is decided where rows are sent
// (delivery/worker/). The hosts that strangers name are an exception: if one has no address, an inner one, or takes no
// connection, that is what can be known of the subscription, and counts like a refusal; unless the cause is plainly here.
//
// The reason that a push service gives for a refusal is read by refusal-reason.ts.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import { isWindowsPushService } from './known-push-services.ts';
import { readRejection, type RejectionReason } from './refusal-reason.ts';

/** The HTTP response of a push service. */
export interface PushResponse {
  readonly status: number;
  /** Names in lower case; repeated fields joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body as text: at most 4096 bytes of it. */
  readonly body: string;
}

/** Why a message will be retried. */
export type RetryReason =
  /** 429, and its equivalent at Windows' push service. */
  | 'throttled'
  /** 5xx: a run of them should open the origin's breaker. */
  | 'server-error'
  /** 408, 421, 425: this request met a temporary condition. */
  | 'not-handled'
  /** No answer: network, TLS or time-out. Made by the sender, never by `readResponse`. */
  | 'connection'
  /**
   * The listed push service has an address that must not be connected to: the resolver or a setting here is wrong. Made by the sender,
   * never by `readResponse`.
   */
  | 'address-blocked'
  /** An unexpected failure on this side. Made by the sender, never by `readResponse`. */
  | 'sender-fault'
  /** The answer broke HTTP. Made by the sender, never by `readResponse`. */
  | 'protocol-error'
  /** Nothing was sent: the push service must get no messages for a while. Made by the sender, never by `readResponse`. */
  | 'deferred';

/** The result of one attempt. */
export type Outcome =
  | {
      /** The push service accepted the message. Whether the user agent shows it is not known. */
      readonly kind: 'accepted';
      /** Absolute URL of the message at the push service (RFC 8030 §5). A capability, like the endpoint. */
      readonly messageUrl?: string;
      /** The push service's identifier of the message (`apns-id`, `x-wns-msg-id`). */
      readonly messageId?: string;
    }
  | {
      /** The subscription has ended: delete it. */
      readonly kind: 'gone';
      /** The push service's own words, at most 200 characters. */
      readonly detail?: string;
    }
  | {
      /** Keep the subscription and retry, never past the TTL. */
      readonly kind: 'retry';
      readonly reason: RetryReason;
      /** From `Retry-After`: not earlier, at most four weeks. */
      readonly afterMs?: number;
      /** The whole origin asks for fewer messages, not only this subscription. */
      readonly slowsOrigin: boolean;
      /** The request may have reached the push service: a repeat may be delivered twice. */
      readonly isInDoubt?: boolean;
      /** Nothing was written, and the cause is on this side or on the way. It says nothing about the message, which waits. */
      readonly isUnsent?: boolean;
      /** The subscription has ended if the last attempt gets this answer. */
      readonly isGoneAtLast?: boolean;
      readonly detail?: string;
    }
  | {
      /** Keep the subscription and do not repeat this message. */
      readonly kind: 'rejected';
      readonly reason: RejectionReason;
      /** `message`: this message to this subscription. `origin`: every further message to this push service as well. */
      readonly scope: 'message' | 'origin';
      /** Tell an operator, once per origin and reason. */
      readonly isAlarm: boolean;
      readonly detail?: string;
    };

/** Whether the push service refuses our token or key, and so other messages as well. */
export const isVapidRefusal = (outcome: Outcome): boolean =>
  outcome.kind === 'rejected' && outcome.reason === 'vapid-refused';

/** Reasons for getting no answer. */
export type FailureReason = Extract<
  RetryReason,
  'connection' | 'protocol-error' | 'address-blocked' | 'sender-fault'
>;

/**
 * Interprets a request that got no answer.
 *
 * @param isInDoubt it was written, at least in part
 * @param isUnlisted a stranger has named the push service
 * @returns what to do with the message; the subscription stays
 */
export function readFailure(error: DeskbellError, isInDoubt: boolean, isUnlisted: boolean): Outcome {
  const { code, message: detail } = error;
  if (code === 'ERR_ENDPOINT_INVALID' || code === 'ERR_MESSAGE_INVALID')
    return { kind: 'rejected', reason: 'bad-request', scope: 'message', isAlarm: true, detail };
  const reason = failureReason(error);
  if (reason === 'address-blocked' && isUnlisted)
    return { kind: 'rejected', reason, scope: 'origin', isAlarm: true, detail };
  return { kind: 'retry', reason, slowsOrigin: false, isInDoubt, isUnsent: !isInDoubt, detail };
}

export function failureReason({ code }: DeskbellError): FailureReason {
  switch (code) {
    case 'ERR_ADDRESS_BLOCKED':
      return 'address-blocked';
    case 'ERR_PROTOCOL':
      return 'protocol-error';
    case 'ERR_CONNECTION':
    case 'ERR_TLS':
    case 'ERR_TIMEOUT':
    case 'ERR_CLOSED':
      return 'connection';
    default:
      return 'sender-fault';
  }
}

/** Codes of a machine without network or name servers, or with too little of something; no remote host can cause them. */
const codesOfFaultsHere: ReadonlySet<unknown> = new Set([
  'EACCES',
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'EAI_MEMORY',
  'EAI_SYSTEM',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EPERM',
]);

/** Whether the cause must be this machine, such as having no network. */
export const isFaultOfMachine = ({ cause }: DeskbellError): boolean =>
  cause instanceof Error && 'code' in cause && codesOfFaultsHere.has(cause.code);

/** What the meaning of a response depends on besides the response. */
export interface ResponseContext {
  /** The clock, in milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly nowMs: number;
  /** The push service is an unlisted public host: its 429 concerns this subscription alone. */
  readonly isUnlisted?: boolean | undefined;
}

/**
 * Interprets the response to a push message.
 *
 * @param origin of the endpoint that the message was posted to, as `URL.origin` gives it
 * @returns what to do with the subscription and the message; every status has a meaning, and nothing is thrown
 * @see RFC 8030 §5, §8.4; RFC 8292 §4.2
 */
export function readResponse(origin: string, response: PushResponse, context: ResponseContext): Outcome {
  const { status, headers } = response;
  const windowsStatus = headers['x-wns-status'] ?? headers['x-wns-notificationstatus'];
  const isLost = windowsStatus === 'dropped' || windowsStatus === 'channelthrottled';
  if (status >= 200 && status <= 299 && !isLost) return accepted(origin, headers);
  return notAccepted(origin, response, windowsStatus, context);
}

function notAccepted(
  origin: string,
  response: PushResponse,
  windowsStatus: string | undefined,
  { nowMs, isUnlisted = false }: ResponseContext,
): Outcome {
  const { status, headers } = response;
  const rejection = readRejection(response);
  const detail = rejection.text === '' ? {} : { detail: rejection.text };
  const retry = (reason: RetryReason, slowsOrigin: boolean): Outcome => {
    const afterMs = readRetryAfterMs(headers['retry-after'], nowMs);
    return { kind: 'retry', reason, slowsOrigin, ...(afterMs === undefined ? {} : { afterMs }), ...detail };
  };
  const reject = (reason: RejectionReason, scope: 'message' | 'origin' = 'message'): Outcome => ({
    kind: 'rejected',
    reason,
    scope,
    // Windows drops messages because of the device or its user.
    isAlarm: reason !== 'dropped',
    ...detail,
  });

  if (status >= 200 && status <= 299) {
    return windowsStatus === 'dropped' ? reject('dropped') : retry('throttled', true);
  }
  if (status >= 300 && status <= 399) return reject('redirected');
  if (isWithoutSubscriber(response)) {
    return {
      kind: 'retry',
      reason: 'server-error',
      slowsOrigin: false,
      afterMs: askAgainAfterMs,
      isGoneAtLast: true,
      ...detail,
    };
  }
  if (status >= 500 && status <= 599) return retry('server-error', status === 503);

  // a subscription made with another key says nothing about the others: anyone can register one
  if ((status === 401 || status === 403) && rejection.reason === 'vapid-key-mismatch') {
    return reject('vapid-key-mismatch');
  }
  switch (status) {
    case 400:
      return reject(rejection.reason ?? 'bad-request');
    case 401:
      return reject('vapid-refused', 'origin');
    case 403:
      // WNS: "not authorized to send to this channel, even though authenticated".
      return isWindowsPushService(origin) ? reject('vapid-key-mismatch') : reject('vapid-refused', 'origin');
    case 404:
    case 410:
      return { kind: 'gone', ...detail };
    case 406: // an older form of 429 (WNS)
    case 429:
      // UnifiedPush: the limit concerns only the endpoint's user.
      return retry('throttled', !isUnlisted);
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

function accepted(origin: string, headers: PushResponse['headers']): Outcome {
  const outcome: { kind: 'accepted'; messageUrl?: string; messageId?: string } = { kind: 'accepted' };
  const messageUrl = toAbsolute(headers['location'], origin);
  if (messageUrl !== undefined) outcome.messageUrl = messageUrl;
  const messageId = headers['apns-id'] ?? headers['x-wns-msg-id'];
  if (messageId !== undefined) outcome.messageId = messageId;
  return outcome;
}

function toAbsolute(location: string | undefined, origin: string): string | undefined {
  if (location === undefined || /^https?:\/\/[^/]/.test(location)) return location;
  return URL.parse(location, origin)?.href;
}

// The header field `Retry-After` (RFC 9110 §10.2.3).

/** Four weeks, the default TTL of a message: a longer `Retry-After` makes no difference. */
const maxRetryAfterMs = 28 * 24 * 60 * 60 * 1000;

/**
 * Reads a `Retry-After`: seconds or an HTTP date.
 *
 * @returns at most four weeks; 0 for a past date; `undefined` if it is missing or malformed
 */
export function readRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // the three forms of an HTTP date begin with the day's name; Date.parse alone accepts almost anything
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  // the oldest form names no zone and means GMT
  const afterMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - nowMs;
  return Number.isNaN(afterMs) ? undefined : Math.min(Math.max(afterMs, 0), maxRetryAfterMs);
}

// Special rules for ntfy, which is self-hosted at any host and recognized by its answers.

/**
 * ntfy answers 507 with this code for a topic without a subscriber in the last twelve hours, and after a restart for every topic
 * until its subscriber is back; it chose a 5xx so that the subscription is not removed at once (`handlePublishInternal` in
 * server/server.go and `errHTTPInsufficientStorageUnifiedPush` in server/errors.go of binwiederhier/ntfy, issue 664 there).
 */
const withoutSubscriber = /"code"\s*:\s*50701\b/;

/**
 * The minimum time between two attempts. With ten attempts that is 13.5 hours; ntfy's own Matrix gateway gives a topic up after twelve
 * (`matrixRejectPushKeyForUnifiedPushTopicWithoutRateVisitorAfter` in server/server_matrix.go).
 */
const askAgainAfterMs = 90 * 60 * 1000;

/** True if ntfy says that nobody is subscribed to the topic. */
const isWithoutSubscriber = ({ status, body }: PushResponse): boolean =>
  status === 507 && withoutSubscriber.test(body);
