// Push subscriptions: what a browser gives an application server to send messages to, strictly parsed. Which push
// services are admitted is decided by the endpoint policy that is passed in.
import type { ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
import { decodeBase64 } from './base64.ts';
import { typeOf } from './check-arguments.ts';
import { normalizeEndpoint } from './endpoint.ts';
import type { EndpointPolicy } from './endpoint-policy.ts';
import { isP256Point, pointBytes } from './p256.ts';

/** A parsed push subscription (Push API §8; RFC 8291 §2.1). */
export interface Subscription {
  /** Absolute URL of at most 4096 characters: scheme, host and port normalised, path and query verbatim. A capability:
   *  never to be logged whole. */
  readonly endpoint: string;
  /** 65 bytes: uncompressed P-256 point. */
  readonly p256dh: Uint8Array;
  /** 16 bytes. */
  readonly auth: Uint8Array;
}

export const authBytes = 16;

/**
 * Parses a subscription as a client sends it: `{endpoint, p256dh, auth}`, or the shape of
 * `PushSubscription.toJSON()`, `{endpoint, keys: {p256dh, auth}}`. Further members are ignored.
 *
 * @example
 * const subscription = parseSubscription(request.body, createEndpointPolicy());
 * @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID; `fields` names every wrong field, with ERR_FIELD_MISSING,
 *   ERR_FIELD_TYPE, ERR_ENDPOINT_*, ERR_BASE64_INVALID or ERR_SUBSCRIPTION_KEY_INVALID
 */
export function parseSubscription(value: unknown, policy: EndpointPolicy): Subscription {
  const faults: FieldError[] = [];
  if (!isRecord(value)) {
    faults.push({
      pointer: '',
      code: 'ERR_FIELD_TYPE',
      detail: `An object is needed, not ${typeOf(value)}.`,
    });
    throw invalid(faults);
  }
  const endpoint = readText(value, '', 'endpoint', faults);
  const fault = endpoint === undefined ? undefined : policy.check(endpoint);
  if (fault !== undefined) faults.push({ pointer: '/endpoint', ...fault });

  const isNested =
    value['keys'] !== undefined && value['p256dh'] === undefined && value['auth'] === undefined;
  const keys = isNested ? value['keys'] : value;
  const parent = isNested ? '/keys' : '';
  if (!isRecord(keys)) {
    faults.push({
      pointer: parent,
      code: 'ERR_FIELD_TYPE',
      detail: `An object is needed, not ${typeOf(keys)}.`,
    });
    throw invalid(faults);
  }
  const p256dh = readBytes(keys, parent, 'p256dh', pointBytes, faults);
  if (p256dh !== undefined && !isP256Point(p256dh)) {
    faults.push({
      pointer: `${parent}/p256dh`,
      code: 'ERR_SUBSCRIPTION_KEY_INVALID',
      detail: 'p256dh is not an uncompressed point on the curve P-256.',
    });
  }
  const auth = readBytes(keys, parent, 'auth', authBytes, faults);

  if (endpoint === undefined || p256dh === undefined || auth === undefined || faults.length > 0) {
    throw invalid(faults);
  }
  return { endpoint: normalizeEndpoint(endpoint), p256dh, auth };
}

function readText(
  record: Record<string, unknown>,
  parent: string,
  name: string,
  faults: FieldError[],
): string | undefined {
  const value = record[name];
  if (typeof value === 'string') return value;
  const isMissing = value === undefined;
  const code: ErrorCode = isMissing ? 'ERR_FIELD_MISSING' : 'ERR_FIELD_TYPE';
  const detail = isMissing ? `${name} is missing.` : `${name} must be a string, not ${typeOf(value)}.`;
  faults.push({ pointer: `${parent}/${name}`, code, detail });
  return undefined;
}

function readBytes(
  record: Record<string, unknown>,
  parent: string,
  name: string,
  length: number,
  faults: FieldError[],
): Uint8Array | undefined {
  const text = readText(record, parent, name, faults);
  if (text === undefined) return undefined;
  const bytes = decodeBase64(text);
  if (bytes?.length === length) return bytes;
  faults.push(
    bytes === undefined
      ? {
          pointer: `${parent}/${name}`,
          code: 'ERR_BASE64_INVALID',
          detail: `${name} is not base64 (standard or URL-safe, padded or not).`,
        }
      : {
          pointer: `${parent}/${name}`,
          code: 'ERR_SUBSCRIPTION_KEY_INVALID',
          detail: `${name} has ${bytes.length} bytes; ${length} are needed.`,
        },
  );
  return undefined;
}

function invalid(fields: readonly FieldError[]): DeskbellError {
  const details = fields.map((field) => field.detail).join(' ');
  return new DeskbellError('ERR_SUBSCRIPTION_INVALID', details, { fields });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
