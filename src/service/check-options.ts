// Options that a type cannot hold to, or that plain JavaScript gets wrong: a string in place of a list, a key that is no
// key, a time below zero. The first that is wrong is named, with what it takes.
import { Type, type Schema } from '../http/schema.ts';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodeBase64 } from '../protocol/base64.ts';
import { isP256Point } from '../protocol/p256.ts';
import { compileSchema } from '../http/validation.ts';

const text = Type.String();
const proxies = 'an address or range, an array of them, true or false (a number of hops would trust nobody)';
const milliseconds = Type.Integer({ minimum: 1, description: 'a whole number of milliseconds above 0' });
const mechanism = Type.Union(
  (['action', 'filter', 'authenticator', 'action-creator'] as const).map((name) => Type.Literal(name)),
);
const action = Type.Union((['get', 'getWithArg', 'post'] as const).map((name) => Type.Literal(name)));
const limit = { minimum: 1, description: 'a whole number above 0' };

const requestLimit = Type.Union([Type.Literal('off'), Type.Integer({ minimum: 1 })], {
  description: 'a whole number above 0 or "off"',
});

/** Each describes what it takes. */
const schemas: Readonly<Record<string, Schema>> = {
  pushOnly: Type.Boolean({ description: 'true or false' }),
  redactSubscriptions: Type.Boolean({ description: 'true or false' }),
  prefix: Type.String({
    pattern: '^(?:/[^/?#]+)*$',
    description: 'a path such as "/push", without "/" at its end',
  }),
  pushServices: Type.Array(text, { description: 'an array of origins' }),
  previousVapidPublicKeys: Type.Array(text, { description: 'an array of public keys' }),
  logging: Type.Array(mechanism, {
    description: 'an array of "action", "filter", "authenticator" and "action-creator"',
  }),
  authenticate: Type.Union([Type.Literal('none'), Type.Literal('all'), Type.Array(action)], {
    description: '"none", "all" or an array of "get", "getWithArg" and "post"',
  }),
  bodyLimitBytes: Type.Integer(limit),
  trustProxy: Type.Union([Type.Boolean(), text, Type.Array(text)], { description: proxies }),
  registrationsPerMinute: requestLimit,
  receiptsPerMinute: requestLimit,
  headersTimeoutMs: milliseconds,
  requestTimeoutMs: milliseconds,
  keepAliveTimeoutMs: milliseconds,
  readTimeoutMs: milliseconds,
  timeoutCheckIntervalMs: milliseconds,
  maxHeaderBytes: Type.Integer(limit),
  maxConnections: Type.Integer(limit),
};

/** The options that are looked at here; the compiler sees to the rest. */
interface CheckedOptions {
  readonly vapidPublicKey: string;
  readonly previousVapidPublicKeys?: readonly string[] | undefined;
  readonly sessionKey: Uint8Array;
  readonly receiptKey?: Uint8Array | undefined;
}

/** @throws {DeskbellError} ERR_CONFIGURATION names the first option that is not usable, and what it takes */
export function checkOptions(options: CheckedOptions): void {
  const { vapidPublicKey, previousVapidPublicKeys = [], sessionKey, receiptKey } = options;
  for (const [name, value] of Object.entries(options)) {
    const schema = schemas[name];
    if (schema === undefined || value === undefined || compileSchema(schema)(value)) continue;
    throw notUsable(name, `must be ${String(schema['description'])}`);
  }
  for (const [option, key] of [
    ['vapidPublicKey', vapidPublicKey],
    ...previousVapidPublicKeys.map((previous) => ['previousVapidPublicKeys', previous] as const),
  ] as const) {
    const point = decodeBase64(String(key));
    if (!point || !isP256Point(point) || key.length !== 87) {
      throw notUsable(option, 'must be a public key: 87 characters of base64url, a point on P-256');
    }
  }
  checkSecret('sessionKey', sessionKey);
  if (receiptKey !== undefined) checkSecret('receiptKey', receiptKey);
}

function checkSecret(name: string, key: unknown): void {
  if (key instanceof Uint8Array && key.length === 32) return;
  throw notUsable(name, 'must be a Uint8Array of 32 random bytes');
}

function notUsable(name: string, what: string): DeskbellError {
  return new DeskbellError('ERR_CONFIGURATION', `The option "${name}" ${what}.`);
}
