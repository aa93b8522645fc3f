// Decrypts what a user agent receives, with the independent package `http_ece`: an error in our own encryption must not
// be cancelled out by the same error here.
import type { ECDH } from 'node:crypto';
import { createRequire } from 'node:module';
import { readParameters } from '../http/header-parameters.ts';

/** The one function that we use of a CommonJS package that has no types. */
interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}

const { decrypt } = createRequire(import.meta.url)('http_ece') as HttpEce;

/** `headers` of an autopush notification, as they came. */
export interface NotificationHeaders {
  readonly encoding?: string;
  readonly encryption?: string;
  readonly crypto_key?: string;
}

/** @throws {Error} from `http_ece` or OpenSSL: the body is not for these keys, or damaged */
export function decryptPushMessage(
  body: Buffer,
  headers: NotificationHeaders,
  keys: { readonly privateKey: ECDH; readonly authSecret: Buffer },
): Buffer {
  if (headers.encoding !== 'aesgcm') return decrypt(body, { version: 'aes128gcm', ...keys });
  const salt = readParameters(headers.encryption ?? '', /[;,]/).get('salt');
  const dh = readParameters(headers.crypto_key ?? '', /[;,]/).get('dh');
  return decrypt(body, { version: 'aesgcm', salt, dh, ...keys });
}
