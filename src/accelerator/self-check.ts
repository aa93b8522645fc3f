// Tests an addon before it may encrypt. The addon must reproduce the example of RFC 8291 at each position in a batch.
// Messages in batches of every size must be decryptable, with fresh keys and salts. The addon must refuse the messages
// that the builtin method refuses, and encrypt the rest of the batch. `multi-buffer` must give OpenSSL's bytes.
import { randomBytes } from 'node:crypto';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEncrypter, type EncryptBatch, maxPlaintextBytes } from '../protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys, type UserAgentKeys } from '../protocol/user-agent.ts';
import { createAddonEncryptBatch, type Addon, type AddonMethod } from './addon.ts';

/** RFC 8291 §5 and appendix A. */
const vector = {
  plaintext: 'When I grow up, I want to be a watermelon',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  privateKey: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  body:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3' +
    'jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
};
const plaintextLengths = [0, 1, 41, 218, 219, 1000, maxPlaintextBytes - 1, maxPlaintextBytes];
const maxBatch = 64;
/** Two groups of eight messages and three single messages reach every branch of the addon. */
const mixedBatch = 19;

/** A fault's description begins with this text if the fault rules out only `multi-buffer`. */
export const eightAtATime = 'eight at a time, ';
/**
 * The smallest private keys. The check also uses the order of the group minus each of these keys. If a private key is
 * 2, or the order minus 2, the addon leaves the calculation to OpenSSL.
 */
const edgeKeys = [1n, 2n, 3n];
/** SEC 2 §2.4.2: the order of the group. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * Tests each encryption method that the addon offers on this machine. Takes about a fifth of a second.
 *
 * @returns why the addon must not be used; `undefined` if there is no fault. If the text begins with `eightAtATime`,
 *   only `multi-buffer` must not be used
 */
export function findFault(addon: Addon): string | undefined {
  const fault = tell(() => findFaultOfMethod({ addon, usesMultiBuffer: false }));
  if (fault !== undefined) return fault;
  const faultOfEight = tell(() =>
    addon.hasMultiBuffer()
      ? (findFaultOfMethod({ addon, usesMultiBuffer: true }) ?? findDifference(addon))
      : undefined,
  );
  return faultOfEight === undefined ? undefined : `${eightAtATime}${faultOfEight}`;
}

function tell(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    return `it failed: ${(error as Error).message}`;
  }
}

/** Compares the addon's bodies for a full batch with OpenSSL's. A wrong public key or secret would change a body. */
function findDifference(addon: Addon): string | undefined {
  const edges = edgeKeys.flatMap((key) => [key, order - key]);
  const fixed = Array.from({ length: maxBatch }, (_, index) => {
    const edge = edges[index]?.toString(16).padStart(64, '0');
    return Buffer.concat([
      randomBytes(16),
      edge === undefined ? generateUserAgentKeys().privateKey : Buffer.from(edge, 'hex'),
    ]);
  });
  const messages = fixed.map(() => ({ plaintext: Buffer.alloc(1), subscription: generateUserAgentKeys() }));
  const [eight, one] = [true, false].map((usesMultiBuffer) =>
    createAddonEncryptBatch({ addon, usesMultiBuffer, fixed: Buffer.concat(fixed) })(messages),
  );
  const isEqual = eight!.every((body, index) => Buffer.from(orThrow(body)).equals(orThrow(one![index])));
  return isEqual ? undefined : 'it gives other public keys or secrets than OpenSSL';
}

/** True if the addon reproduces the example of RFC 8291 at each position in a batch. Takes a millisecond. */
export function reproducesVector(method: AddonMethod): boolean {
  const fixed = Buffer.concat([decode(vector.salt), decode(vector.privateKey)]);
  const message = {
    plaintext: Buffer.from(vector.plaintext),
    subscription: { p256dh: decode(vector.p256dh), auth: decode(vector.auth) },
  };
  const encryptBatch = createAddonEncryptBatch({
    ...method,
    fixed: Buffer.concat(Array.from({ length: mixedBatch }, () => fixed)),
  });
  const wanted = decode(vector.body);
  return encryptBatch(Array.from({ length: mixedBatch }, () => message)).every(
    (body) => body instanceof Uint8Array && wanted.equals(body),
  );
}

function findFaultOfMethod(method: AddonMethod): string | undefined {
  const encryptBatch = createAddonEncryptBatch(method);
  if (!reproducesVector(method)) return 'it does not reproduce the example of RFC 8291';
  const receivers = Array.from({ length: maxBatch }, () => generateUserAgentKeys());
  for (let count = 1; count <= maxBatch; count += 1) {
    if (!isReadable(encryptBatch, receivers.slice(0, count))) return 'what it encrypts cannot be read';
  }
  if (!isFresh(encryptBatch, receivers)) return 'it used a key pair or a salt twice';
  return findAdmittedPoint(encryptBatch, receivers.slice(0, mixedBatch));
}

function isReadable(encryptBatch: EncryptBatch, receivers: readonly UserAgentKeys[]): boolean {
  const messages = receivers.map((subscription, index) => ({
    plaintext: randomBytes(plaintextLengths[(index + receivers.length) % plaintextLengths.length]!),
    subscription,
  }));
  // decryption is slow, so check only the first, the last and every eighth message of each batch
  return encryptBatch(messages).every((body, index) => {
    const isRead = index === 0 || index === receivers.length - 1 || (index + receivers.length) % 8 === 0;
    return !isRead || messages[index]!.plaintext.equals(decryptPushMessage(orThrow(body), receivers[index]!));
  });
}

function isFresh(encryptBatch: EncryptBatch, receivers: readonly UserAgentKeys[]): boolean {
  const messages = receivers.map((subscription) => ({ plaintext: Buffer.alloc(1), subscription }));
  const bodies = [...encryptBatch(messages), ...encryptBatch(messages)].map((body) =>
    Buffer.from(orThrow(body)),
  );
  const salts = new Set(bodies.map((body) => body.toString('hex', 0, 16)));
  const publicKeys = new Set(bodies.map((body) => body.toString('hex', 21, 86)));
  return salts.size === bodies.length && publicKeys.size === bodies.length;
}

/**
 * Puts bad points at each position in a batch. The addon must refuse each bad point as the builtin method does, and
 * still encrypt the other messages.
 */
function findAdmittedPoint(
  encryptBatch: EncryptBatch,
  receivers: readonly UserAgentKeys[],
): string | undefined {
  const builtin = createEncrypter();
  for (const [place, receiver] of receivers.entries()) {
    const [what, p256dh] = badPoint(place, receiver.p256dh);
    const messages = receivers.map((subscription) => ({ plaintext: Buffer.alloc(1), subscription }));
    messages[place] = { plaintext: Buffer.alloc(1), subscription: { ...receiver, p256dh } };
    const bodies = encryptBatch(messages);
    if (!isRefusal(bodies[place]) || !isRefused(() => builtin(Buffer.alloc(1), { ...receiver, p256dh }))) {
      return `it takes ${what} for p256dh`;
    }
    const next = (place + 1) % receivers.length;
    if (decryptPushMessage(orThrow(bodies[next]), receivers[next]!).length !== 1)
      return 'a bad point disturbs it';
    if (bodies.filter(isRefusal).length !== 1) return 'a bad point disturbs it';
  }
  return undefined;
}

function badPoint(index: number, p256dh: Uint8Array): [string, Uint8Array] {
  if (index % 3 === 0) {
    const offCurvePoint = Buffer.from(p256dh);
    offCurvePoint.writeUInt8(offCurvePoint.readUInt8(64) ^ 1, 64);
    return ['a point off the curve', offCurvePoint];
  }
  return index % 3 === 1
    ? ['coordinates beyond the prime', Buffer.alloc(65, 0xff).fill(4, 0, 1)]
    : ['the point (0, 0)', Buffer.alloc(65).fill(4, 0, 1)];
}

function isRefused(encrypt: () => Uint8Array): boolean {
  try {
    encrypt();
    return false;
  } catch (error) {
    return isRefusal(error);
  }
}

function isRefusal(result: unknown): boolean {
  return result instanceof DeskbellError && result.code === 'ERR_SUBSCRIPTION_KEY_INVALID';
}

function orThrow(result: Uint8Array | DeskbellError | undefined): Uint8Array {
  if (result instanceof Uint8Array) return result;
  throw result ?? new Error('a message is missing');
}

const decode = (text: string): Buffer => Buffer.from(text, 'base64url');
