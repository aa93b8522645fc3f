// Decides what happens to a message after an attempt. There are four cases:
//
//   the push service responded        its status decides; temporary refusals are retried, up to ten attempts in all
//   a check refused the message or    final
//   subscription before sending
//   it was written, but there was no  in doubt: it may have arrived. It is repeated three times, then stays in doubt
//   readable response
//   it could not be written           the fault is on this side, so the message waits, and no attempt is counted
//
// The TTL ends every message, the frequency cap holds some back, and a person may cancel; delivery/worker/ handles
// these cases. Unlisted hosts are an exception to the last case: if such a host has no address, has an internal one, or
// refuses connections, that counts as a refusal, unless the cause is clearly on this machine.
//
// refusal-reason.ts reads the reason that a push service gives for a refusal.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import { isWindowsPushService } from './known-push-services.ts';
import { readRejection, type RejectionReason } from './refusal-reason.ts';

/** The HTTP response of a push service. */
export interface PushResponse {
  readonly status: number;
  /** Names are in lower case. Repeated fields are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body as text, at most 4096 bytes. */
  readonly body: string;
}

/** The reason why a message will be retried. */
export type RetryReason =
  /** 429, or the equivalent response from Windows' push service. */
  | 'throttled'
  /** 5xx. Several of these in a row should open the origin's circuit breaker. */
  | 'server-error'
  /** 408, 421, 425: a temporary condition that affected only this request. */
  | 'not-handled'
  /** No response: network, TLS or time-out. Set by the sender, never by `readResponse`. */
  | 'connection'
  /**
   * The listed push service resolves to an address that must not be connected to, because the resolver or a setting
   * here is wrong. Set by the sender, never by `readResponse`.
   */
  | 'address-blocked'
  /** An unexpected failure on this side. Set by the sender, never by `readResponse`. */
  | 'sender-fault'
  /** The response violated HTTP. Set by the sender, never by `readResponse`. */
  | 'protocol-error'
  /** Not sent, because no messages may be sent to the push service now. Set by the sender, never by `readResponse`. */
  | 'deferred';

/** The result of one attempt. */
export type Outcome =
  | {
      /** The push service accepted the message. Whether the user agent shows it is unknown. */
      readonly kind: 'accepted';
      /** Absolute URL of the message at the push service (RFC 8030 §5). Anyone who knows this URL can use it. */
      readonly messageUrl?: string;
      /** The push service's ID of the message (`apns-id`, `x-wns-msg-id`). */
      readonly messageId?: string;
    }
  | {
      /** The subscription has ended: delete it. */
      readonly kind: 'gone';
      /** The push service's explanation, at most 200 characters. */
      readonly detail?: string;
    }
  | {
      /** Keep the subscription and retry, but never after the TTL. */
      readonly kind: 'retry';
      readonly reason: RetryReason;
      /** From `Retry-After`: the minimum delay, at most four weeks. */
      readonly afterMs?: number;
      /** True if the push service wants fewer messages overall, not only for this subscription. */
      readonly slowsOrigin: boolean;
      /** The request may have reached the push service, so a repeat may be delivered twice. */
      readonly isInDoubt?: boolean;
      /** Nothing was written, because of a problem here or in the network. The message keeps waiting. */
      readonly isUnsent?: boolean;
      /** If the last attempt gets this response too, the subscription has ended. */
      readonly isGoneAtLast?: boolean;
      readonly detail?: string;
    }
  | {
      /** Keep the subscription and do not repeat this message. */
      readonly kind: 'rejected';
      readonly reason: RejectionReason;
      /** `message`: only this message to this subscription. `origin`: all further messages to this push service too. */
      readonly scope: 'message' | 'origin';
      /** True if an operator must be told. Operators are told once per origin and reason. */
      readonly isAlarm: boolean;
      readonly detail?: string;
    };

/** True if the push service refuses our token or key, so that it will refuse other messages too. */
export const isVapidRefusal = (outcome: Outcome): boolean =>
  outcome.kind === 'rejected' && outcome.reason === 'vapid-refused';

/** Reasons why there is no response. */
export type FailureReason = Extract<
  RetryReason,
  'connection' | 'protocol-error' | 'address-blocked' | 'sender-fault'
>;

/**
 * Interprets a request that got no response.
 *
 * @param isInDoubt true if at least a part of the request was written
 * @param isUnlisted true if the push service is unlisted, so that only subscriptions name it
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

/** Error codes with a cause on this machine, such as no network, no name server or too few resources. */
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

/** True if the cause must be on this machine, for example because it has no network. */
export const isFaultOfMachine = ({ cause }: DeskbellError): boolean =>
  cause instanceof Error && 'code' in cause && codesOfFaultsHere.has(cause.code);

/** The facts that `readResponse` needs in addition to the response. */
export interface ResponseContext {
  /** The current time in milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly nowMs: number;
  /** True if the push service is an unlisted public host. A 429 then concerns only this subscription. */
  readonly isUnlisted?: boolean | undefined;
}

/**
 * Interprets the response to a push message. The function knows an outcome for every status, and never throws an error.
 *
 * @param origin the endpoint's origin, as `URL.origin` returns it
 * @returns what to do with the subscription and the message
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
    // WNS drops messages because of the device or its user, and no operator can change that
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

  // a subscription with another key says nothing about others: anyone can register such a subscription
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
    case 406: // an older equivalent of 429 (WNS)
    case 429:
      // An unlisted push service is usually a UnifiedPush server, which limits each user separately. So its 429 does
      // not slow down messages to its other users.
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

/** Four weeks, the default TTL. A longer `Retry-After` makes no difference. */
const maxRetryAfterMs = 28 * 24 * 60 * 60 * 1000;

/**
 * Reads a `Retry-After` (RFC 9110 §10.2.3), which is either seconds or an HTTP date.
 *
 * @returns at most four weeks; 0 for a past date; `undefined` if the value is missing or malformed
 */
export function readRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // every HTTP date begins with the name of a day; Date.parse alone accepts almost anything
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  // the oldest form has no time zone but means GMT
  const afterMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - nowMs;
  return Number.isNaN(afterMs) ? undefined : Math.min(Math.max(afterMs, 0), maxRetryAfterMs);
}

// Special rules for ntfy. Anyone can host ntfy, so it is recognised by its responses.

/**
 * ntfy responds 507 with this code if nobody has subscribed to the topic in the last twelve hours. After ntfy restarts,
 * every topic gets this response until its subscriber returns. ntfy chose a 5xx so that the subscription is not removed
 * at once (issue 664 of binwiederhier/ntfy; `handlePublishInternal` in server/server.go,
 * `errHTTPInsufficientStorageUnifiedPush` in server/errors.go).
 */
const withoutSubscriber = /"code"\s*:\s*50701\b/;

/**
 * The minimum delay between two attempts. Ten attempts take 13.5 hours; ntfy's own Matrix gateway gives up on a topic
 * after twelve (`matrixRejectPushKeyForUnifiedPushTopicWithoutRateVisitorAfter` in server/server_matrix.go).
 */
const askAgainAfterMs = 90 * 60 * 1000;

/** True if ntfy says that nobody has subscribed to the topic. */
const isWithoutSubscriber = ({ status, body }: PushResponse): boolean =>
  status === 507 && withoutSubscriber.test(body);
