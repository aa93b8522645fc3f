// What each option of the service may be, for each of its three forms.
import { Type, type Schema } from '../http/schema.ts';

import {
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
import type { MiddlewareOptions, ServerOptions, ServiceOptions } from './options.ts';
import { decodeBase64 } from '../protocol/base64.ts';
import { isP256Point } from '../protocol/p256.ts';
import { areSubscriberTokens } from './push/subscriber-token.ts';
import { compileSchema } from '../http/validation.ts';

const text = Type.String();
const proxies = 'an address or range, an array of them, true or false (a number of hops would trust nobody)';
const milliseconds = fits(
  Type.Integer({ minimum: 1, description: 'a whole number of milliseconds above 0' }),
);
const mechanism = Type.Union(
  (['action', 'filter', 'authenticator', 'action-creator'] as const).map((name) => Type.Literal(name)),
);
const action = Type.Union((['get', 'getWithArg', 'post'] as const).map((name) => Type.Literal(name)));
const whole = fits(Type.Integer({ minimum: 1, description: 'a whole number above 0' }));
const flag = fits(Type.Boolean({ description: 'true or false' }));

const requestLimit = fits(
  Type.Union([Type.Literal('off'), Type.Integer({ minimum: 1 })], {
    description: 'a whole number above 0 or "off"',
  }),
);

export const serviceChecks: OptionChecks<ServiceOptions> = {
  store: isObject,
  vapidPublicKey: isPublicKey,
  previousVapidPublicKeys(value, name) {
    fits(Type.Array(text, { description: 'an array of public keys' }))(value, name);
    for (const key of value as readonly string[]) isPublicKey(key, name);
  },
  sessionKey: isSecret(32),
  pushOnly: flag,
  exampleUsers: isObject,
  sendCommand: isText,
  prefix: fits(
    Type.String({
      pattern: '^(?:/[^/?#]+)*$',
      description: 'a path such as "/push", without "/" at its end',
    }),
  ),
  pushServices: fits(Type.Array(text, { description: 'an array of origins' })),
  logging: fits(
    Type.Array(mechanism, {
      description: 'an array of "action", "filter", "authenticator" and "action-creator"',
    }),
  ),
  authenticate: fits(
    Type.Union([Type.Literal('none'), Type.Literal('all'), Type.Array(action)], {
      description: '"none", "all" or an array of "get", "getWithArg" and "post"',
    }),
  ),
  redactSubscriptions: flag,
  bodyLimitBytes: whole,
  registrationsPerMinute: requestLimit,
  receiptKey: isSecret(32),
  receiptsPerMinute: requestLimit,
  log: isObject,
  subscriberTokens: areSubscriberTokens,
  onSubscribe: isFunction,
  onUnsubscribe: isFunction,
  authorize: isFunction,
  readWarnings: isFunction,
};

const httpChecks: OptionChecks<HttpServerOptions> = {
  trustProxy: fits(Type.Union([Type.Boolean(), text, Type.Array(text)], { description: proxies })),
  headersTimeoutMs: milliseconds,
  requestTimeoutMs: milliseconds,
  keepAliveTimeoutMs: milliseconds,
  readTimeoutMs: milliseconds,
  timeoutCheckIntervalMs: milliseconds,
  maxHeaderBytes: whole,
  maxConnections: whole,
};

export const serverChecks: OptionChecks<ServerOptions> = { ...serviceChecks, ...httpChecks };

const { prefix: _, ...mountedChecks } = serviceChecks;

export const middlewareChecks: OptionChecks<MiddlewareOptions> = {
  ...mountedChecks,
  trustProxy: httpChecks.trustProxy,
};

function isPublicKey(...[value, name]: Parameters<OptionCheck>): void {
  const point = decodeBase64(String(value));
  if (!point || !isP256Point(point) || String(value).length !== 87) {
    throw wrong(name, 'must be a public key: 87 characters of base64url, a point on P-256');
  }
}

/** @param schema describes what it takes */
function fits(schema: Schema): OptionCheck {
  return mustBe(String(schema['description']), (value) => compileSchema(schema)(value) as boolean);
}
