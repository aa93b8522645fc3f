// Parses push subscriptions strictly. The given endpoint policy decides which push services are allowed.
import type { ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
import { decodeBase64 } from './bytes.ts';
import { typeOf } from '../errors/check-options.ts';
import { normalizeEndpoint } from './endpoint.ts';
import type { EndpointPolicy } from './endpoint-policy.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';
import { isP256Point, pointBytes } from './p256.ts';

/** A parsed push subscription (Push API §8; RFC 8291 §2.1). */
export interface Subscription {
  /**
   * Absolute URL of at most 4096 characters. Scheme, host and port are normalized; path and query are verbatim. Anyone
   * who knows the URL can send to it: never log it whole.
   */
  readonly endpoint: string;
  /** 65 bytes: uncompressed P-256 point. */
  readonly p256dh: Uint8Array;
  /** 16 bytes. */
  readonly auth: Uint8Array;
}

export const authBytes = 16;

/** Base64 in the standard or the URL-safe alphabet. The first byte of `p256dh` is 0x04. */
export const keyPatterns = {
  p256dh: '^B[A-P](?:[A-Za-z0-9+/]{85}|[A-Za-z0-9_-]{85})=?$',
  auth: '^(?:[A-Za-z0-9+/]{22}|[A-Za-z0-9_-]{22})(?:==)?$',
};

/**
 * Parses a subscription as a client sends it: `{endpoint, p256dh, auth}`, or in the form of
 * `PushSubscription.toJSON()`, `{endpoint, keys: {p256dh, auth}}`. Other fields are ignored.
 *
 * @example
 * const subscription = parseSubscription(request.body, createEndpointPolicy());
 * @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID; `fields` lists every wrong field with ERR_FIELD_MISSING,
 *   ERR_FIELD_TYPE, ERR_ENDPOINT_*, ERR_BASE64_INVALID or ERR_SUBSCRIPTION_KEY_INVALID
 */
export function parseSubscription(value: unknown, policy: EndpointPolicy): Subscription {
  const faults: FieldError[] = [];
  const report = (pointer: string, code: ErrorCode, detail: string): undefined => {
    faults.push({ pointer, code, detail });
  };
  const readObject = (given: unknown, pointer: string): JsonObject => {
    if (isJsonObject(given)) return given;
    report(pointer, 'ERR_FIELD_TYPE', `An object is needed, not ${typeOf(given)}.`);
    throw invalid(faults);
  };
  const readText = (text: unknown, pointer: string, name: string): string | undefined => {
    if (typeof text === 'string') return text;
    return text === undefined
      ? report(pointer, 'ERR_FIELD_MISSING', `${name} is missing.`)
      : report(pointer, 'ERR_FIELD_TYPE', `${name} must be a string, not ${typeOf(text)}.`);
  };
  const readBytes = (given: unknown, pointer: string, name: string, length: number) => {
    const text = readText(given, pointer, name);
    if (text === undefined) return undefined;
    const bytes = decodeBase64(text);
    if (bytes?.length === length) return bytes;
    return bytes === undefined
      ? report(pointer, 'ERR_BASE64_INVALID', `${name} is not base64 (standard or URL-safe, padded or not).`)
      : report(
          pointer,
          'ERR_SUBSCRIPTION_KEY_INVALID',
          `${name} has ${bytes.length} bytes; ${length} are needed.`,
        );
  };

  const record = readObject(value, '');
  const endpoint = readText(record['endpoint'], '/endpoint', 'endpoint');
  const fault = endpoint === undefined ? undefined : policy.check(endpoint);
  if (fault !== undefined) faults.push({ pointer: '/endpoint', ...fault });

  const isNested =
    record['keys'] !== undefined && record['p256dh'] === undefined && record['auth'] === undefined;
  const parent = isNested ? '/keys' : '';
  const keys = isNested ? readObject(record['keys'], parent) : record;
  const p256dh = readBytes(keys['p256dh'], `${parent}/p256dh`, 'p256dh', pointBytes);
  if (p256dh !== undefined && !isP256Point(p256dh)) {
    const detail = 'p256dh is not an uncompressed point on the curve P-256.';
    report(`${parent}/p256dh`, 'ERR_SUBSCRIPTION_KEY_INVALID', detail);
  }
  const auth = readBytes(keys['auth'], `${parent}/auth`, 'auth', authBytes);

  if (endpoint === undefined || p256dh === undefined || auth === undefined || faults.length > 0) {
    throw invalid(faults);
  }
  return { endpoint: normalizeEndpoint(endpoint), p256dh, auth };
}

function invalid(fields: readonly FieldError[]): DeskbellError {
  const details = fields.map((field) => field.detail).join(' ');
  return new DeskbellError('ERR_SUBSCRIPTION_INVALID', details, { fields });
}
