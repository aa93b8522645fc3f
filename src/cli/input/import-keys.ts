// Reads the VAPID key pair of another web push tool from a text: PEM, or both keys as base64url in any form around them
// (JSON, environment files, the output of `web-push generate-vapid-keys`).
import { createECDH, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { encodeBase64url } from '../../protocol/base64.ts';
import { curve, pointBytes } from '../../protocol/p256.ts';
import { checkVapidKeys, type VapidKeys } from '../../protocol/vapid-token.ts';

/**
 * @param text PEM: a private key in SEC1 or PKCS#8, with or without its public half; public keys beside it must belong
 *   to it, other blocks (EC PARAMETERS, certificates) are ignored. Otherwise a public key of 87 and a private key of 43
 *   characters.
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID; the message never quotes the text
 */
export function parseKeyPair(text: string): VapidKeys {
  const pair = text.includes('-----BEGIN ') ? parsePem(text) : findBase64urlPair(text);
  checkVapidKeys(pair);
  return pair;
}

function findBase64urlPair(text: string): VapidKeys {
  const words = [...new Set(text.match(/[A-Za-z0-9_-]+/g))];
  const [publicKey, ...otherPublic] = words.filter((word) => word.length === 87);
  const [privateKey, ...otherPrivate] = words.filter((word) => word.length === 43);
  if (!publicKey || !privateKey || otherPublic.length > 0 || otherPrivate.length > 0) {
    throw invalid(
      'is neither a PEM private key nor a text with exactly one public key (87 characters of base64url) and one ' +
        'private key (43 characters)',
    );
  }
  return { publicKey, privateKey };
}

function parsePem(text: string): VapidKeys {
  // In JSON and environment files, line ends are written as \n.
  const blocks = text
    .replaceAll(String.raw`\n`, '\n')
    .match(/-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----/gs);
  const privateBlocks = (blocks ?? []).filter((block) => /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(block));
  const [block] = privateBlocks;
  if (block === undefined) throw invalid('holds no private key (PEM)');
  if (privateBlocks.length > 1) throw invalid(`holds ${privateBlocks.length} private keys (PEM); give one`);
  const pair = toPair(readPrivateKey(block));
  for (const publicBlock of (blocks ?? []).filter((each) => each.startsWith('-----BEGIN PUBLIC KEY-----'))) {
    if (readPublicKey(publicBlock) !== pair.publicKey) {
      throw invalid('holds a public key (PEM) that does not belong to its private key');
    }
  }
  return pair;
}

function readPrivateKey(block: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED |^Proc-Type:.*ENCRYPTED/m.test(block)) {
    throw invalid(
      'holds an encrypted private key. Decrypt it first ("openssl pkey -in key.pem -out -") and import the result',
    );
  }
  try {
    return createPrivateKey(block);
  } catch (cause) {
    throw invalid('holds a private key (PEM) that cannot be read', cause);
  }
}

function toPair(key: KeyObject): VapidKeys {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type !== 'ec' || details?.namedCurve !== curve) {
    const kind =
      type === 'ec' ? `on the curve ${details?.namedCurve ?? 'of explicit parameters'}` : `of type ${type}`;
    throw invalid(`holds a private key ${kind}. VAPID needs one on the curve P-256 (${curve})`);
  }
  const privateKey = key.export({ format: 'jwk' }).d ?? '';
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(privateKey, 'base64url');
  const publicKey = encodeBase64url(ecdh.getPublicKey());
  if (publicKey !== pointOf(createPublicKey(key))) {
    throw invalid('holds a private key (PEM) with a public key that does not belong to it');
  }
  return { publicKey, privateKey };
}

function readPublicKey(block: string): string {
  try {
    return pointOf(createPublicKey(block));
  } catch (cause) {
    throw invalid('holds a public key (PEM) that cannot be read', cause);
  }
}

/** The uncompressed point, which ends the DER form of a key on P-256. */
function pointOf(publicKey: KeyObject): string {
  return encodeBase64url(publicKey.export({ format: 'der', type: 'spki' }).subarray(-pointBytes));
}

const invalid = (fault: string, cause?: unknown): DeskbellError =>
  new DeskbellError('ERR_VAPID_KEY_INVALID', `The text to import ${fault}`, { cause });
