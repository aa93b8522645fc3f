import {
  isFlag,
  isFunction,
  isObject,
  isSecret,
  isText,
  mustBe,
  wrong,
  type OptionCheck,
  type OptionChecks,
} from '../errors/check-options.ts';
import type { HttpServerOptions } from '../http/create-http-server.ts';
import { isLog } from '../http/log.ts';
import type { HandlerOptions, MiddlewareOptions, ServerOptions, ServiceOptions } from './options.ts';
import { receiptKeyBytes } from '../protocol/message/receipt-token.ts';
import { isVapidPublicKey } from '../protocol/vapid-token.ts';
import { isRequestLimit } from './push/rate-limit.ts';
import { isStore } from '../store/is-store.ts';
import { areSubscriberTokens } from './push/subscriber-token.ts';

const isPositive = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;
const isListOf = (items: RegExp, value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string' && items.test(item));

const whole = mustBe('a whole number above 0', isPositive);
const milliseconds = mustBe('a whole number of milliseconds above 0', isPositive);

export const serviceChecks: OptionChecks<ServiceOptions> = {
  store: isStore,
  vapidPublicKey: isPublicKey,
  previousVapidPublicKeys(value, name) {
    mustBe('an array of public keys', Array.isArray)(value, name);
    for (const key of value as readonly unknown[]) isPublicKey(key, name);
  },
  sessionKey: isSecret(32),
  pushOnly: isFlag,
  exampleUsers: isObject,
  sendCommand: isText,
  prefix: mustBe(
    'a path such as "/push", without "/" at its end',
    (value) => typeof value === 'string' && /^(?:\/[^/?#]+)*$/.test(value),
  ),
  pushServices: mustBe(
    'an array of origins, or "public"',
    (value) => value === 'public' || isListOf(/^/, value),
  ),
  maxPushServices: whole,
  logging: mustBe('an array of "action", "filter", "authenticator" and "action-creator"', (value) =>
    isListOf(/^(?:action|filter|authenticator|action-creator)$/, value),
  ),
  authenticate: mustBe(
    '"none", "all" or an array of "get", "getWithArg" and "post"',
    (value) => value === 'none' || value === 'all' || isListOf(/^(?:get|getWithArg|post)$/, value),
  ),
  redactSubscriptions: isFlag,
  bodyLimitBytes: whole,
  registrations: mustBe('"open" or "invited"', (value) => value === 'open' || value === 'invited'),
  registrationsPerMinute: isRequestLimit,
  receiptKey: isSecret(receiptKeyBytes),
  receiptsPerMinute: isRequestLimit,
  channels: isFlag,
  log: isLog,
  subscriberTokens: areSubscriberTokens,
  onSubscribe: isFunction,
  onUnsubscribe: isFunction,
  authorize: isFunction,
  readWarnings: isFunction,
};

const httpChecks: OptionChecks<HttpServerOptions> = {
  trustProxy: mustBe(
    'an address or range, an array of them, true or false (a number of hops would trust nobody)',
    (value) => typeof value === 'boolean' || isListOf(/^/, [value].flat()),
  ),
  headersTimeoutMs: milliseconds,
  requestTimeoutMs: milliseconds,
  keepAliveTimeoutMs: milliseconds,
  readTimeoutMs: milliseconds,
  closeGraceMs: milliseconds,
  timeoutCheckIntervalMs: milliseconds,
  maxHeaderBytes: whole,
  maxConnections: whole,
  maxConnectionsPerClient: whole,
};

export const serverChecks: OptionChecks<ServerOptions> = { ...serviceChecks, ...httpChecks };

const { prefix: _, ...mountedChecks } = serviceChecks;

export const middlewareChecks: OptionChecks<MiddlewareOptions> = {
  ...mountedChecks,
  trustProxy: httpChecks.trustProxy,
};

export const handlerChecks: OptionChecks<HandlerOptions> = {
  ...middlewareChecks,
  prefix: serviceChecks.prefix,
  toRequest: isFunction,
  clientAddress: isFunction,
};

function isPublicKey(...[value, name]: Parameters<OptionCheck>): void {
  if (!isVapidPublicKey(value))
    throw wrong(name, 'must be a public key: 87 characters of unpadded base64url, a point on P-256');
}
