// What an addon must show before it may encrypt: the vector of RFC 8291, agreement with the builtin way on random
// messages, fresh keys, and that it refuses what the builtin way refuses.
import { randomBytes } from 'node:crypto';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEncrypter, maxPlaintextBytes, type Encrypt } from '../protocol/encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../protocol/user-agent.ts';
import { encryptWithAddon, type Addon } from './addon.ts';

/** RFC 8291 §5 and appendix A. */
const vector = {
  plaintext: 'When I grow up, I want to be a watermelon',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  publicKey: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
  privateKey: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  body:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3' +
    'jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
};
const plaintextLengths = [0, 1, 41, 218, 219, 1000, maxPlaintextBytes - 1, maxPlaintextBytes];

/** Why the addon must not be used, in words; `undefined` where it may. */
export function findFault(addon: Addon): string | undefined {
  const encrypt = encryptWithAddon(addon);
  try {
    if (!reproducesVector(addon)) return 'it does not reproduce the example of RFC 8291';
    if (!isReadable(encrypt)) return 'what it encrypts cannot be read';
    if (!isFresh(encrypt)) return 'it used a key pair or a salt twice';
    return findAdmittedPoint(encrypt);
  } catch (error) {
    return `it failed: ${(error as Error).message}`;
  }
}

function reproducesVector(addon: Addon): boolean {
  const [plaintext, p256dh, auth] = [
    Buffer.from(vector.plaintext),
    decode(vector.p256dh),
    decode(vector.auth),
  ];
  const fixed = Buffer.concat([vector.salt, vector.publicKey, vector.privateKey].map(decode));
  return decode(vector.body).equals(encryptWithAddon(addon, fixed)(plaintext, { p256dh, auth }));
}

function isReadable(encrypt: Encrypt): boolean {
  return plaintextLengths.every((length) => {
    const keys = generateUserAgentKeys();
    const plaintext = randomBytes(length);
    return plaintext.equals(decryptPushMessage(encrypt(plaintext, keys), keys));
  });
}

function isFresh(encrypt: Encrypt): boolean {
  const keys = generateUserAgentKeys();
  const bodies = Array.from({ length: 8 }, () => Buffer.from(encrypt(Buffer.alloc(1), keys)));
  const salts = new Set(bodies.map((body) => body.toString('hex', 0, 16)));
  const publicKeys = new Set(bodies.map((body) => body.toString('hex', 21, 86)));
  return salts.size === bodies.length && publicKeys.size === bodies.length;
}

/** Hands bad points to both ways: each must refuse each, and go on with a good one. */
function findAdmittedPoint(encrypt: Encrypt): string | undefined {
  const builtin = createEncrypter();
  const keys = generateUserAgentKeys();
  const offCurve = Buffer.from(keys.p256dh);
  offCurve.writeUInt8(offCurve.readUInt8(64) ^ 1, 64);
  const badPoints = {
    'a point off the curve': offCurve,
    'coordinates beyond the prime': Buffer.alloc(65, 0xff).fill(4, 0, 1),
    'the point (0, 0)': Buffer.alloc(65).fill(4, 0, 1),
  };
  for (const [what, p256dh] of Object.entries(badPoints)) {
    const faulty = { ...keys, p256dh };
    if (!refuses(builtin, faulty) || !refuses(encrypt, faulty)) return `it takes ${what} for p256dh`;
    if (decryptPushMessage(encrypt(Buffer.alloc(1), keys), keys).length !== 1)
      return 'a bad point disturbs it';
  }
  return undefined;
}

function refuses(encrypt: Encrypt, keys: Parameters<Encrypt>[1]): boolean {
  try {
    encrypt(Buffer.alloc(1), keys);
    return false;
  } catch (error) {
    return error instanceof DeskbellError && error.code === 'ERR_SUBSCRIPTION_KEY_INVALID';
  }
}

const decode = (text: string): Buffer => Buffer.from(text, 'base64url');
