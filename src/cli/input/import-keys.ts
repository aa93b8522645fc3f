// Reads the VAPID key pair of another web push tool in any form: PEM, DER, JSON Web Keys, or both keys as base64 or
// hexadecimal digits, with any text around them.
import { createECDH, createPrivateKey, createPublicKey, ECDH, type KeyObject } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { decodeBase64, encodeBase64url } from '../../protocol/bytes.ts';
import { isJsonObject } from '../../protocol/json-object.ts';
import { curve, isP256Point, pointBytes, scalarBytes } from '../../protocol/p256.ts';
import { checkVapidKeys, type VapidKeys } from '../../protocol/vapid.ts';

export interface FoundKeys extends VapidKeys {
  /** The form in which the keys were given, such as "a private key in PEM". */
  readonly found: string;
}

/** A key, or bytes that may be a key. */
interface Candidate {
  readonly kind: 'public' | 'private';
  /** True if the form of the text proves that it is a key. A bare word of 32 bytes may be anything. */
  readonly isCertain: boolean;
  /** The key's 65 or 32 bytes, as base64url. */
  readonly key: string;
  readonly form: string;
}

/** Whether the bytes are DER rather than text: they begin with the tag and length of a sequence. */
export const isDer = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x30 && (bytes[1]! >= 0x80 || bytes[1]! + 2 === bytes.length);

/**
 * @param given text or DER. A private key in PEM, DER or JWK is enough; any public keys must belong to it. Other
 *   blocks (EC PARAMETERS, certificates) are ignored. If keys are bare bytes, exactly one pair must match.
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, which says what was found; the message never quotes the text
 */
export function parseKeyPair(given: string | Uint8Array): FoundKeys {
  const candidates = unique(typeof given === 'string' ? readText(given) : readDer(given, 'DER'));
  const publicKeys = candidates.filter(({ kind }) => kind === 'public');
  const privateKeys = candidates.filter(({ kind }) => kind === 'private');
  const certain = privateKeys.filter(({ isCertain }) => isCertain);
  if (certain.length > 1)
    throw invalid(`holds ${certain.length} private keys (${formsOf(certain)}); give one`);
  const pairs = (certain.length > 0 ? certain : privateKeys).flatMap((candidate) => {
    const publicKey = derivePublicKey(candidate.key);
    const half = publicKeys.find(({ key }) => key === publicKey);
    const isAlone = candidate.isCertain && publicKeys.length === 0;
    const others = publicKeys.filter(({ isCertain, key }) => isCertain && key !== publicKey);
    return publicKey !== undefined && others.length === 0 && (half || isAlone)
      ? [{ publicKey, candidate, half }]
      : [];
  });
  const [pair, ...others] = pairs;
  if (pair === undefined) throw invalid(describeFault(publicKeys, privateKeys));
  if (others.length > 0) throw invalid(`holds ${pairs.length} key pairs; give one`);
  const keys = { publicKey: pair.publicKey, privateKey: pair.candidate.key };
  checkVapidKeys(keys);
  const { candidate, half } = pair;
  return {
    ...keys,
    found: `a private key (${candidate.form})${half ? ` and its public key (${half.form})` : ''}`,
  };
}

function describeFault(publicKeys: readonly Candidate[], privateKeys: readonly Candidate[]): string {
  const [privateKey] = privateKeys;
  if (privateKey?.isCertain && publicKeys.length > 0)
    return `holds a public key (${formsOf(publicKeys)}) that does not belong to its private key (${privateKey.form})`;
  if (publicKeys.length > 0 && privateKeys.length > 0)
    return `holds a public key (${formsOf(publicKeys)}) and a private key (${formsOf(privateKeys)}) that do not belong together; give both halves of one pair`;
  const needed =
    'Needed is a private key in PEM, DER or JWK, or a public key of 65 bytes and its private key of 32';
  if (publicKeys.length > 0)
    return `holds a public key (${formsOf(publicKeys)}), and holds no private key. ${needed}`;
  if (privateKeys.length > 0)
    return `holds what may be a private key (${formsOf(privateKeys)}), and holds no public key. ${needed}`;
  return `holds no private key and no public key. ${needed}`;
}

const formsOf = (candidates: readonly Candidate[]): string =>
  [...new Set(candidates.map(({ form }) => form))].join(', ');

const unique = (candidates: readonly Candidate[]): readonly Candidate[] => [
  ...new Map(
    candidates
      .toSorted((one, other) => Number(one.isCertain) - Number(other.isCertain))
      .map((candidate) => [candidate.kind + candidate.key, candidate]),
  ).values(),
];

function readText(text: string): readonly Candidate[] {
  const value = attempt((): unknown => JSON.parse(text));
  if (typeof value === 'object' && value !== null) return readJson(value);
  return text.includes('-----BEGIN ') ? readPem(text) : readWords(text);
}

/** Finds keys in a JSON value: JSON Web Keys (RFC 7517) at any depth, and strings in any supported key format. */
function readJson(value: unknown): readonly Candidate[] {
  if (typeof value === 'string') return readText(value);
  if (typeof value !== 'object' || value === null) return [];
  if (isJsonObject(value) && value['kty'] !== undefined) {
    const { kty, crv, x, y, d } = value;
    if (kty !== 'EC' || crv !== 'P-256')
      throw invalid(`holds a JWK of type ${name(kty)} ${name(crv)}. ${neededCurve}`);
    const [scalar, ...point] = [d, x, y].map((part) =>
      typeof part === 'string' ? decodeBase64(part) : undefined,
    );
    const isWhole = point.every((half) => half !== undefined);
    return readKey(isWhole ? Buffer.concat([Buffer.of(4), ...point]) : undefined, scalar, 'JWK');
  }
  return Object.values(value).flatMap(readJson);
}

const neededCurve = `VAPID needs one on the curve P-256 (${curve})`;
const name = (value: unknown): string =>
  typeof value === 'string' && /^[\w-]{1,20}$/.test(value) ? value : '';

/** Reads PEM: base64 DER between two header lines. Line ends may be of any kind, escaped or missing. */
function readPem(text: string): readonly Candidate[] {
  const blocks = text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----/gs);
  return Array.from(blocks).flatMap(([, label = '', body = '']) => {
    if (label.startsWith('ENCRYPTED ') || /Proc-Type:.*ENCRYPTED/.test(body)) {
      throw invalid(
        'holds an encrypted private key. Decrypt it first ("openssl pkey -in key.pem -out -") and import the result',
      );
    }
    if (!/PRIVATE KEY$|^PUBLIC KEY$/.test(label)) return [];
    const der = decodeBase64(body.replaceAll(/\\[nr]|\s/g, ''));
    const found = der === undefined ? [] : readDer(der, 'PEM');
    if (found.length > 0) return found;
    throw invalid(
      `holds a ${label.endsWith('PRIVATE KEY') ? 'private' : 'public'} key (PEM) that cannot be read`,
    );
  });
}

/** Reads PKCS #8, SEC 1 or SubjectPublicKeyInfo. @returns an empty array for other bytes */
function readDer(der: Uint8Array, form: string): readonly Candidate[] {
  const key = Buffer.from(der);
  for (const type of ['pkcs8', 'sec1', 'pkcs1'] as const) {
    const object = attempt(() => createPrivateKey({ key, format: 'der', type }));
    if (object) return readKeyObject(object, form);
  }
  const object = attempt(() => createPublicKey({ key, format: 'der', type: 'spki' }));
  return object ? readKeyObject(object, form) : [];
}

function readKeyObject(key: KeyObject, form: string): readonly Candidate[] {
  const { type, asymmetricKeyType, asymmetricKeyDetails: details } = key;
  if (asymmetricKeyType !== 'ec' || details?.namedCurve !== curve) {
    const kind =
      asymmetricKeyType === 'ec'
        ? `on the curve ${details?.namedCurve ?? 'of explicit parameters'}`
        : `of type ${asymmetricKeyType}`;
    throw invalid(`holds a ${type} key ${kind}. ${neededCurve}`);
  }
  // the DER form of a P-256 public key ends with the point
  const point = (type === 'private' ? createPublicKey(key) : key).export({ format: 'der', type: 'spki' });
  const scalar =
    type === 'private' ? Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url') : undefined;
  return readKey(point.subarray(-pointBytes), scalar, form);
}

/** Reads a private key that may come with a public key. If the two keys do not belong together, returns both. */
function readKey(
  point: Uint8Array | undefined,
  scalar: Uint8Array | undefined,
  form: string,
): readonly Candidate[] {
  const publicKeys = point ? readPoint(point, form, true) : [];
  const privateKeys = scalar ? readScalar(scalar, form, true) : [];
  const derived = new Set(privateKeys.map(({ key }) => derivePublicKey(key)));
  return [...publicKeys.filter(({ key }) => !derived.has(key)), ...privateKeys];
}

/** Reads words of base64 or hexadecimal digits, which may be points, scalars, or whole keys in DER or PEM. */
function readWords(text: string): readonly Candidate[] {
  const words = Array.from(text.matchAll(/[A-Za-z0-9+/_-]{40,}={0,2}/g), ([word]) => word);
  // the whole text may be one key that is broken into lines
  return [text.replaceAll(/\s/g, ''), ...words].flatMap((word) => {
    const [, digits] = /^(?:0x)?((?:[\da-f]{2})+)$/i.exec(word) ?? [];
    const isHex = digits !== undefined;
    const bytes = isHex ? Buffer.from(digits, 'hex') : decodeBase64(word);
    if (bytes === undefined) return [];
    const form = `${bytes.length} bytes in ${isHex ? 'hexadecimal digits' : 'base64'}`;
    const inner = Buffer.from(bytes).toString('latin1');
    if (inner.startsWith('-----BEGIN ')) return readPem(inner);
    if (bytes[0] === 0x30 && bytes.length > pointBytes) return readDer(bytes, 'DER in base64');
    return [...readPoint(bytes, form, false), ...readScalar(bytes, form, false)];
  });
}

/** Reads a point: uncompressed, compressed, or without its leading byte. */
function readPoint(bytes: Uint8Array, form: string, isCertain: boolean): readonly Candidate[] {
  const given = bytes.length === pointBytes - 1 ? Buffer.concat([Buffer.of(4), bytes]) : bytes;
  const isCompressed = given.length === scalarBytes + 1 && [2, 3].includes(given[0]!);
  const point = isCompressed
    ? attempt(() => ECDH.convertKey(given, curve, undefined, undefined, 'uncompressed') as Buffer)
    : given;
  return point && isP256Point(point)
    ? [{ kind: 'public', isCertain, key: encodeBase64url(point), form }]
    : [];
}

/** Reads a scalar, which may have 31 bytes (a first byte of 0 was dropped) or 33 (with a leading 0). */
function readScalar(bytes: Uint8Array, form: string, isCertain: boolean): readonly Candidate[] {
  const excess = bytes.length - scalarBytes;
  if (excess < -1 || excess > 1 || (excess === 1 && bytes[0] !== 0)) return [];
  const scalar = Buffer.concat([Buffer.alloc(Math.max(0, -excess)), bytes.subarray(Math.max(0, excess))]);
  return [{ kind: 'private', isCertain, key: encodeBase64url(scalar), form }];
}

/** @returns undefined if the private key is not a scalar of the curve */
function derivePublicKey(privateKey: string): string | undefined {
  const ecdh = createECDH(curve);
  return attempt(() => {
    ecdh.setPrivateKey(privateKey, 'base64url');
    return encodeBase64url(ecdh.getPublicKey());
  });
}

function attempt<Value>(make: () => Value): Value | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

const invalid = (fault: string): DeskbellError =>
  new DeskbellError('ERR_VAPID_KEY_INVALID', `The text to import ${fault}`);
