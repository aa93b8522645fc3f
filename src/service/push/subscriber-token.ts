// Subscriber tokens are JWTs with which an application's backend says who owns a subscription. The client sends the
// token with `POST /webPush`, as `Authorization: Bearer`. The claim `sub` is the user, and `tags` has the tags. `exp`
// and `aud` are as in RFC 7519.
import { createPublicKey } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errors, jwtVerify, SignJWT, type JWTPayload } from 'jose';

import {
  checkOptions,
  isCheckedElsewhere,
  isObject,
  isText,
  mustBe,
  wrong,
  type OptionCheck,
  type OptionChecks,
} from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type UserAndTags, checkUserAndTags } from '../../audience/user-and-tags.ts';

/**
 * The algorithm, the key and the audience of subscriber tokens. A token must be signed with the algorithm given here.
 */
export type SubscriberTokens =
  | {
      readonly algorithm: 'HS256';
      /** At least 32 bytes, shared with the application's backend. */
      readonly key: Uint8Array;
      readonly audience: string;
    }
  | {
      readonly algorithm: 'EdDSA';
      /** The backend's Ed25519 public key, as PEM (SPKI). */
      readonly publicKey: string;
      readonly audience: string;
    };

export const maxLifetimeSeconds = 3600;
const clockToleranceSeconds = 60;
const minKeyBytes = 32;

/** `createSubscriberToken` takes these options. */
export interface SubscriberTokenOptions {
  readonly key: Uint8Array;
  readonly audience: string;
  readonly user: string;
  readonly tags?: readonly string[] | undefined;
  /** Default and maximum: 3600. */
  readonly lifetimeSeconds?: number | undefined;
}

const isKey = mustBe(
  `a Uint8Array of at least ${minKeyBytes} random bytes`,
  (value) => value instanceof Uint8Array && value.length >= minKeyBytes,
);

const subscriberTokenChecks: OptionChecks<SubscriberTokenOptions> = {
  key: isKey,
  audience: isText,
  user: isCheckedElsewhere,
  tags: isCheckedElsewhere,
  lifetimeSeconds: isCheckedElsewhere,
};

/**
 * Creates a subscriber token that is signed with HS256.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_FIELD_VALUE, ERR_FIELD_TYPE
 */
export async function createSubscriberToken(options: SubscriberTokenOptions): Promise<string> {
  checkOptions(options, subscriberTokenChecks, { required: ['key', 'audience'] });
  const { key, audience, lifetimeSeconds = maxLifetimeSeconds, ...userAndTags } = options;
  const { user, tags } = checkUserAndTags(userAndTags);
  if (!(lifetimeSeconds > 0 && lifetimeSeconds <= maxLifetimeSeconds)) {
    throw new DeskbellError(
      'ERR_FIELD_VALUE',
      `lifetimeSeconds is ${lifetimeSeconds}; it must be above 0 and at most ${maxLifetimeSeconds}.`,
    );
  }
  return new SignJWT({ tags })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(user ?? '')
    .setAudience(audience)
    .setExpirationTime(Math.floor(Date.now() / 1000) + lifetimeSeconds)
    .sign(key);
}

/**
 * Returns the user and tags of a request's token; `undefined` if there is no token, or if the service accepts none.
 *
 * @throws {DeskbellError} ERR_SUBSCRIBER_TOKEN says why a token is refused
 */
export type ReadSubscriberToken = (
  request: Pick<FastifyRequest, 'headers'>,
  reply: Pick<FastifyReply, 'header'>,
) => Promise<UserAndTags | undefined>;

/** @param tokens if undefined, requests' subscriber tokens are ignored @throws {DeskbellError} ERR_CONFIGURATION */
export function createReadSubscriberToken(tokens: SubscriberTokens | undefined): ReadSubscriberToken {
  if (tokens === undefined) return async () => undefined;
  const { audience } = tokens;
  const key = readKey(tokens);
  const algorithms = tokens.algorithm === 'HS256' ? ['HS256'] : ['EdDSA', 'Ed25519'];
  const verify = async (token: string): Promise<UserAndTags> => {
    const { payload } = await jwtVerify(token, key, {
      algorithms,
      audience,
      // because of `audience`, "aud" is required too
      requiredClaims: ['exp', 'sub'],
      clockTolerance: clockToleranceSeconds,
    });
    return readClaims(payload);
  };
  return async ({ headers: { authorization = '' } }, reply) => {
    const [, token] = /^Bearer(?: +(.*))?$/i.exec(authorization) ?? [];
    if (token === undefined && !/^Bearer$/i.test(authorization)) return undefined;
    try {
      return await verify(token ?? '');
    } catch (error) {
      reply.header('www-authenticate', 'Bearer error="invalid_token"'); // RFC 6750 §3
      throw tokenError(error, tokens);
    }
  };
}

const isAudience = mustBe(
  'the name that tokens have in "aud"',
  (value) => typeof value === 'string' && value !== '',
);

const tokensChecks: Readonly<Record<SubscriberTokens['algorithm'], OptionChecks<object>>> = {
  HS256: { algorithm: isText, key: isKey, audience: isAudience },
  EdDSA: { algorithm: isText, publicKey: isCheckedElsewhere, audience: isAudience },
};

export const areSubscriberTokens: OptionCheck = (value, name) => {
  isObject(value, name);
  readKey(value as SubscriberTokens);
};

function readKey(tokens: SubscriberTokens): Parameters<typeof jwtVerify>[1] {
  const name = 'subscriberTokens';
  if (tokens.algorithm !== 'HS256' && tokens.algorithm !== 'EdDSA') {
    throw wrong(`${name}.algorithm`, 'must be "HS256" or "EdDSA"');
  }
  const checks = tokensChecks[tokens.algorithm];
  checkOptions(tokens, checks, { name, required: Object.keys(checks) });
  if (tokens.algorithm === 'HS256') return tokens.key;
  try {
    const key = createPublicKey(tokens.publicKey);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // the parser's own error says less about what is wrong
  }
  throw wrong(`${name}.publicKey`, 'must be an Ed25519 public key as PEM');
}

function readClaims({ sub, tags, exp = 0 }: JWTPayload): UserAndTags {
  const seconds = exp - Date.now() / 1000;
  if (seconds > maxLifetimeSeconds + clockToleranceSeconds) {
    throw new DeskbellError('ERR_FIELD_VALUE', 'It is valid for more than an hour.');
  }
  // some libraries, such as those for Go, encode an absent list as null
  return checkUserAndTags({ user: sub, tags: (tags ?? []) as readonly string[] });
}

/** Says what is wrong without showing the token. Returns other errors unchanged. */
function tokenError(error: unknown, tokens: SubscriberTokens): unknown {
  if (!(error instanceof errors.JOSEError || error instanceof DeskbellError)) return error;
  return new DeskbellError(
    'ERR_SUBSCRIBER_TOKEN',
    `The subscriber token is refused. ${reasonOf(error, tokens)}`,
    { cause: error },
  );
}

function reasonOf(
  error: errors.JOSEError | DeskbellError,
  { algorithm, audience }: SubscriberTokens,
): string {
  if (error instanceof DeskbellError) return error.message;
  if (error instanceof errors.JWTExpired) return 'It has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return `It has no "${error.claim}".`;
    return error.claim === 'aud' ? `Its "aud" is not "${audience}".` : `Its "${error.claim}" is not valid.`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return `It is not signed with ${algorithm}.`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'Its signature is wrong.';
  return 'It is not a signed JWT.';
}
