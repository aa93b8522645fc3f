// What proves a receipt: the token in the payload of each row, which only the holder of the receipt key can make. It says
// which message it was and which subscription it went to, and nothing of the person.
//
//   token = base64url(broadcast id (6 bytes) ‖ subscription id (6 bytes) ‖ first 16 bytes of an HMAC-SHA-256 over both)
import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { decodeBase64, encodeBase64url } from '../base64.ts';

export const receiptKeyBytes = 32;

/** Which message, and the stored subscription that it was sent to. */
export interface ReceiptSubject {
  readonly broadcastId: number;
  readonly subscriptionId: number;
}

const idBytes = 6;
const macBytes = 16;
const tokenBytes = 2 * idBytes + macBytes;
/** Characters of base64url. */
const tokenLength = Math.ceil((tokenBytes * 4) / 3);
export const receiptTokenPattern = `^[A-Za-z0-9_-]{${tokenLength}}$`;

const memberStart = ',"receipt":"';
const memberEnd = '"}';
/** What the token takes of the payload: `,"receipt":"…"`. */
export const receiptMemberBytes = memberStart.length + tokenLength + 1;

/**
 * Makes the payloads of a broadcast whose rows each have a token of their own.
 *
 * @param payload a JSON object with one member at least, as `encodePayload` makes it
 * @param key `receiptKeyBytes` bytes
 * @returns gives the payload for a subscription, `receiptMemberBytes` longer than `payload`
 */
export function createReceiptPayloads(
  payload: Uint8Array,
  broadcastId: number,
  key: Uint8Array,
): (subscriptionId: number) => Uint8Array {
  const secret = createSecretKey(key);
  const tokenStart = payload.length - 1 + memberStart.length;
  const template = Buffer.concat([
    payload.subarray(0, -1),
    Buffer.from(memberStart + '_'.repeat(tokenLength) + memberEnd),
  ]);
  return (subscriptionId) => {
    const whole = Buffer.from(template);
    whole.write(createToken(secret, { broadcastId, subscriptionId }), tokenStart, 'latin1');
    return whole;
  };
}

export function createReceiptToken(key: Uint8Array, subject: ReceiptSubject): string {
  return createToken(createSecretKey(key), subject);
}

/**
 * Makes a reader of tokens.
 *
 * @returns gives `undefined` for a token that was not made with the key
 */
export function createReceiptTokenReader(key: Uint8Array): (token: string) => ReceiptSubject | undefined {
  const secret = createSecretKey(key);
  return (token) => {
    const bytes = decodeBase64(token);
    if (bytes?.length !== tokenBytes) return undefined;
    const given = Buffer.from(bytes);
    const ids = given.subarray(0, 2 * idBytes);
    if (!timingSafeEqual(macOf(secret, ids), given.subarray(2 * idBytes))) return undefined;
    return { broadcastId: ids.readUIntBE(0, idBytes), subscriptionId: ids.readUIntBE(idBytes, idBytes) };
  };
}

function createToken(secret: KeyObject, { broadcastId, subscriptionId }: ReceiptSubject): string {
  const ids = Buffer.allocUnsafe(2 * idBytes);
  ids.writeUIntBE(broadcastId, 0, idBytes);
  ids.writeUIntBE(subscriptionId, idBytes, idBytes);
  return encodeBase64url(Buffer.concat([ids, macOf(secret, ids)]));
}

function macOf(secret: KeyObject, ids: Buffer): Buffer {
  return createHmac('sha256', secret).update(ids).digest().subarray(0, macBytes);
}
