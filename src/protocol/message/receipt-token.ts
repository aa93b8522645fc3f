// The token that proves a receipt. Each row's payload contains its own token. Only the holder of the receipt key can
// make tokens. A token identifies the message and the subscription, and says nothing about the person.
//
//   token = base64url(broadcast id (6 bytes) ‖ subscription id (6 bytes)) ‖ first 22 characters of
//           base64url(HMAC-SHA-256 over these 12 bytes): 132 bits
import { createHmac, hash } from 'node:crypto';
import { isSameSecret } from '../bytes.ts';

export const receiptKeyBytes = 32;

/** A message, and the stored subscription that it was sent to. */
export interface ReceiptSubject {
  readonly broadcastId: number;
  readonly subscriptionId: number;
}

const idBytes = 6;
const idsLength = (2 * idBytes * 4) / 3;
const macLength = 22;
const tokenLength = idsLength + macLength;
export const receiptTokenPattern = `^[A-Za-z0-9_-]{${tokenLength}}$`;
const tokenSyntax = new RegExp(receiptTokenPattern);

const memberStart = ',"receipt":"';
const memberEnd = '"}';
export const toReceiptMember = (token: string): string => `${memberStart}${token}"`;
/** Number of bytes that the token adds to the payload as `,"receipt":"…"`. */
export const receiptMemberBytes = memberStart.length + tokenLength + 1;

/**
 * Makes the payloads of a broadcast with receipts. Each payload contains the token of its row.
 *
 * @param payload a JSON object with at least one member, as `encodePayload` returns it
 * @param key `receiptKeyBytes` bytes
 * @returns a function that makes the payload for a subscription, `receiptMemberBytes` longer than `payload`
 */
export function createReceiptPayloads(
  payload: Uint8Array,
  broadcastId: number,
  key: Uint8Array,
): (subscriptionId: number) => Uint8Array {
  const createToken = createReceiptTokens(key);
  const tokenStart = payload.length - 1 + memberStart.length;
  const template = Buffer.concat([
    payload.subarray(0, -1),
    Buffer.from(memberStart + '_'.repeat(tokenLength) + memberEnd),
  ]);
  return (subscriptionId) => {
    const whole = Buffer.from(template);
    whole.write(createToken({ broadcastId, subscriptionId }), tokenStart, 'latin1');
    return whole;
  };
}

/**
 * Makes tokens. `createHmac` would take four times as long as this HMAC from two digests (RFC 2104 §2), and every row
 * of a broadcast needs a token.
 *
 * @param key `receiptKeyBytes` bytes
 */
export function createReceiptTokens(key: Uint8Array): (subject: ReceiptSubject) => string {
  const blockBytes = 64;
  const inner = Buffer.alloc(blockBytes + 2 * idBytes);
  const outer = Buffer.alloc(blockBytes + 32);
  for (let index = 0; index < blockBytes; index += 1) {
    inner[index] = (key[index] ?? 0) ^ 0x36;
    outer[index] = (key[index] ?? 0) ^ 0x5c;
  }
  return ({ broadcastId, subscriptionId }) => {
    inner.writeUIntBE(broadcastId, blockBytes, idBytes);
    inner.writeUIntBE(subscriptionId, blockBytes + idBytes, idBytes);
    outer.write(hash('sha256', inner, 'latin1'), blockBytes, 'latin1');
    const ids = inner.toString('base64url', blockBytes);
    return ids + hash('sha256', outer, 'base64url').slice(0, macLength);
  };
}

/** @returns a function that reads a token, and returns `undefined` if the token was not made with the key */
export function createReceiptTokenReader(key: Uint8Array): (token: string) => ReceiptSubject | undefined {
  return (token) => {
    if (!tokenSyntax.test(token)) return undefined;
    const ids = Buffer.from(token.slice(0, idsLength), 'base64url');
    const mac = createHmac('sha256', key).update(ids).digest('base64url').slice(0, macLength);
    if (!isSameSecret(mac, token.slice(idsLength))) return undefined;
    return { broadcastId: ids.readUIntBE(0, idBytes), subscriptionId: ids.readUIntBE(idBytes, idBytes) };
  };
}
