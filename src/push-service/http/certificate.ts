// Makes a self-signed server certificate (RFC 5280) for loopback and tests. Clients must be told to trust the
// certificate. It is not a CA certificate, because rustls refuses CA certificates from servers. A package for this
// would take megabytes.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

// Writes the subset of DER (X.690) that a certificate needs.

const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Context-specific, constructed: `[0]` is `explicit + 0`. */
  explicit: 0xa0,
  /** Context-specific, primitive: `[0]` is `implicit + 0`. */
  implicit: 0x80,
} as const;

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const contents = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), encodeLength(contents.length), contents]);
}

/** X.690 §8.1.3, §10.1: a length up to 127 takes one byte. Otherwise, the first byte says how many bytes follow. */
function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.of(0x80 | bytes.length, ...bytes);
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return der(Tag.objectIdentifier, Buffer.from([40 * first + second, ...others].flatMap(base128)));
}

/** Encodes a time in UTC, in whole seconds (RFC 5280 §4.1.2.5). */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/\.\d+|[-:T]/g, '');
  const isShort = date.getUTCFullYear() < 2050;
  return der(isShort ? Tag.utcTime : Tag.generalizedTime, Buffer.from(isShort ? digits.slice(2) : digits));
}

/** Encodes seven bits per byte. The highest bit is set on all bytes but the last. */
function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

export interface Certificate {
  readonly key: string;
  /** The certificate as PEM, which clients need in their `ca`. */
  readonly cert: string;
}

const dayMs = 24 * 60 * 60 * 1000;
const validDays = 365;

const oid = {
  ecdsaWithSha256: objectIdentifier('1.2.840.10045.4.3.2'),
  commonName: objectIdentifier('2.5.4.3'),
  subjectKeyIdentifier: objectIdentifier('2.5.29.14'),
  subjectAltName: objectIdentifier('2.5.29.17'),
  basicConstraints: objectIdentifier('2.5.29.19'),
  authorityKeyIdentifier: objectIdentifier('2.5.29.35'),
  extKeyUsage: objectIdentifier('2.5.29.37'),
  serverAuth: objectIdentifier('1.3.6.1.5.5.7.3.1'),
};

const yes = der(Tag.boolean, Buffer.of(0xff));
const signatureAlgorithm = der(Tag.sequence, oid.ecdsaWithSha256);

/** Makes a P-256 key and its certificate, valid for a year. @param hosts names and IP addresses to certify */
export function makeCertificate(hosts: readonly string[]): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const toBeSigned = tbsCertificate(publicKey, hosts);
  const signature = sign('sha256', toBeSigned, privateKey);
  const certificate = der(
    Tag.sequence,
    toBeSigned,
    signatureAlgorithm,
    der(Tag.bitString, Buffer.of(0), signature),
  );
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replaceAll(/.{64}(?!$)/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function tbsCertificate(publicKey: KeyObject, hosts: readonly string[]): Buffer {
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  // OpenSSL finds authorities by name, so each of our certificates needs its own name.
  const commonName = Buffer.from(`deskbell push service ${randomUUID()}`);
  const name = der(
    Tag.sequence,
    der(Tag.set, der(Tag.sequence, oid.commonName, der(Tag.utf8String, commonName))),
  );
  // a serial number must be positive and have no leading zero (RFC 5280 §4.1.2.2)
  const serialNumber = randomBytes(16);
  serialNumber[0] = 0x40 | (serialNumber.readUInt8(0) & 0x3f);
  const now = Date.now();
  return der(
    Tag.sequence,
    der(Tag.explicit + 0, der(Tag.integer, Buffer.of(2))), // version 3
    der(Tag.integer, serialNumber),
    signatureAlgorithm,
    name,
    der(Tag.sequence, time(new Date(now - dayMs)), time(new Date(now + validDays * dayMs))),
    name,
    spki,
    der(Tag.explicit + 3, der(Tag.sequence, ...extensions(spki, hosts))),
  );
}

function extensions(spki: Buffer, hosts: readonly string[]): Buffer[] {
  const keyIdentifier = createHash('sha256').update(spki).digest().subarray(0, 20);
  const altNames = hosts.map((host) =>
    isIP(host) === 0
      ? der(Tag.implicit + 2, Buffer.from(host))
      : der(Tag.implicit + 7, Buffer.from(ipaddr.parse(host).toByteArray())),
  );
  return [
    // an empty value means that the certificate is not a CA
    extension(oid.basicConstraints, true, der(Tag.sequence)),
    extension(oid.extKeyUsage, false, der(Tag.sequence, oid.serverAuth)),
    extension(oid.subjectKeyIdentifier, false, der(Tag.octetString, keyIdentifier)),
    extension(oid.authorityKeyIdentifier, false, der(Tag.sequence, der(Tag.implicit + 0, keyIdentifier))),
    extension(oid.subjectAltName, false, der(Tag.sequence, ...altNames)),
  ];
}

function extension(id: Buffer, isCritical: boolean, value: Buffer): Buffer {
  return der(Tag.sequence, id, ...(isCritical ? [yes] : []), der(Tag.octetString, value));
}
