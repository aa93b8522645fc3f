// Decrypts with the independent package `http_ece`, so that the same error on both sides cannot go unnoticed.
import type { ECDH } from 'node:crypto';
import { createRequire } from 'node:module';
import { readParameters } from '../http/header-parameters.ts';

/** The package has no types. */
interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}

const { decrypt } = createRequire(import.meta.url)('http_ece') as HttpEce;

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
