// The npm package `web-push` itself, under the types of ours, and what both are given in the contract tests.
import { createECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';

import { verifyVapidAuthorization } from '../../src/protocol/vapid-verification.ts';
import webPush from '../../src/web-push/index.ts';

export type WebPush = Omit<typeof webPush, 'setAddressGuard' | 'module.exports'>;

const require = createRequire(import.meta.url);
export const original = require('web-push') as WebPush;
export const ours: WebPush = webPush;

interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}
const httpEce = require('http_ece') as HttpEce;

/** A subscription, and what its browser needs to read messages. */
export function makeSubscriber(endpoint: string) {
  const ecdh = createECDH('prime256v1');
  const p256dh = ecdh.generateKeys('base64url');
  const auth = randomBytes(16).toString('base64url');
  return { ecdh, subscription: { endpoint, keys: { p256dh, auth } } };
}

type Fields = Readonly<Record<string, unknown>>;
type Subscriber = ReturnType<typeof makeSubscriber>;

/**
 * A request in a form in which two of the same meaning are equal: names in lower case, the body decrypted, and what is
 * random or depends on the time replaced by what it says.
 */
export function describeRequest(headers: Fields, body: Buffer | null, { ecdh, subscription }: Subscriber) {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(headers)) fields[name.toLowerCase()] = String(value);
  const { encryption, 'crypto-key': cryptoKey } = fields;
  const isEmpty = body === null || body.length === 0;
  const text = isEmpty
    ? undefined
    : httpEce
        .decrypt(body, {
          version: fields['content-encoding'],
          privateKey: ecdh,
          authSecret: subscription.keys.auth,
          salt: /salt=([\w-]+)/.exec(String(encryption))?.[1],
          dh: /dh=([\w-]+)/.exec(String(cryptoKey))?.[1],
        })
        .toString();
  return {
    ...fields,
    text,
    authorization: describeAuthorization(fields['authorization'], cryptoKey),
    ...(encryption !== undefined && { encryption: withoutRandom(encryption) }),
    ...(cryptoKey !== undefined && { 'crypto-key': withoutRandom(cryptoKey) }),
  };
}

const withoutRandom = (value: unknown): string => String(value).replaceAll(/(salt|dh)=[\w-]+/g, '$1=…');

/** The token verified, with its lifetime in hours. */
export function describeAuthorization(value: unknown, cryptoKey?: unknown): unknown {
  const token = /^(?:vapid t=|WebPush )([\w.-]+)/.exec(String(value))?.[1];
  if (token === undefined) return value;
  const key = /(?:k|p256ecdsa)=([\w-]+)/.exec(`${String(value)} ${String(cryptoKey)}`)?.[1];
  const [header, claims] = token.split('.', 2).map((part) => readJson(part));
  const origin = String(claims!['aud']);
  const verified = verifyVapidAuthorization(`vapid t=${token}, k=${key}`, { origin });
  return {
    rest: String(value).replace(token, '…'),
    header,
    aud: claims!['aud'],
    sub: claims!['sub'],
    hours: Math.round((Number(claims!['exp']) - Date.now() / 1000) / 3600),
    verified: typeof verified === 'string' ? verified : 'good',
  };
}

const readJson = (part: string): Fields => JSON.parse(Buffer.from(part, 'base64url').toString()) as Fields;

/** What a call gives or throws, and what it writes to the console. */
export async function observe(call: () => unknown) {
  const warnings: unknown[] = [];
  const { warn } = console;
  console.warn = (...words: unknown[]) => warnings.push(words);
  try {
    return { value: await call(), warnings };
  } catch (error) {
    const { name, message, code, statusCode } = error as Error & Fields;
    return { error: { name, message, code, statusCode }, warnings };
  } finally {
    console.warn = warn;
  }
}
