// The content coding `aes128gcm` (RFC 8188): a header with salt, record size and key id, then records, each with its
// own nonce. Encodes a single record and decodes any number. The whole content is in memory.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { pointBytes } from './p256.ts';

export const saltBytes = 16;
/** salt(16) ‖ rs(4) ‖ idlen(1) */
const fixedHeaderBytes = saltBytes + 4 + 1;
const tagBytes = 16;
/** A record's overhead apart from padding: the delimiter byte and the authentication tag. */
const recordOverheadBytes = 1 + tagBytes;
/** RFC 8188 §2: 2 marks the last record, 1 every other record. */
const moreDelimiter = 1;
const lastDelimiter = 2;

const keyInfo = 'Content-Encoding: aes128gcm\0';
const nonceInfo = 'Content-Encoding: nonce\0';

/** Input for a body of one record. Callers must check the input. */
export interface RecordParameters {
  readonly inputKeyingMaterial: Uint8Array;
  /** 16 bytes. Never use the same salt twice with the same keying material. */
  readonly salt: Uint8Array;
  /** At least 17 bytes more than plaintext and padding together. */
  readonly recordSizeBytes: number;
  /** At most 255 bytes. */
  readonly keyId: Uint8Array;
  /** Number of zeros to add, which hide the plaintext's length. */
  readonly paddingBytes: number;
}

/**
 * Encodes a body of one record, as RFC 8291 §4 requires for a push message.
 *
 * @returns salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid ‖ record
 * @see RFC 8188 §2
 */
export function encodeAes128gcm(plaintext: Uint8Array, parameters: RecordParameters): Uint8Array {
  const { inputKeyingMaterial, salt, recordSizeBytes, keyId, paddingBytes } = parameters;
  const { key, nonce } = deriveKeyAndNonce(inputKeyingMaterial, salt);
  const headerBytes = fixedHeaderBytes + keyId.length;
  const tagAt = plaintext.length + 1 + paddingBytes;
  const content = Buffer.allocUnsafe(headerBytes + tagAt + tagBytes);
  content.set(salt);
  content.writeUInt32BE(recordSizeBytes, saltBytes);
  content.writeUInt8(keyId.length, saltBytes + 4);
  content.set(keyId, fixedHeaderBytes);
  const record = content.subarray(headerBytes);
  record.set(plaintext);
  record[plaintext.length] = lastDelimiter;
  record.fill(0, plaintext.length + 1, tagAt);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  record.set(cipher.update(record.subarray(0, tagAt)));
  cipher.final();
  record.set(cipher.getAuthTag(), tagAt);
  return content;
}

/**
 * Reads the header of an aes128gcm body.
 *
 * @throws {DeskbellError} ERR_DECRYPTION_FAILED
 */
export function readAes128gcmHeader(content: Uint8Array) {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const idLength = content[fixedHeaderBytes - 1];
  if (idLength === undefined || content.length < fixedHeaderBytes + idLength) {
    throw failure(`The content has ${content.length} bytes, less than its header.`);
  }
  const recordSizeBytes = view.getUint32(saltBytes);
  if (recordSizeBytes <= recordOverheadBytes) {
    throw failure(`The record size is ${recordSizeBytes}; at least ${recordOverheadBytes + 1} is needed.`);
  }
  const headerBytes = fixedHeaderBytes + idLength;
  return {
    salt: content.subarray(0, saltBytes),
    recordSizeBytes,
    keyId: content.subarray(fixedHeaderBytes, headerBytes),
    headerBytes,
  };
}

/**
 * Decodes an aes128gcm body. Refuses a body that was cut off between two records.
 *
 * @returns the plaintext without its padding
 * @throws {DeskbellError} ERR_DECRYPTION_FAILED
 * @see RFC 8188 §2
 */
export function decodeAes128gcm(content: Uint8Array, inputKeyingMaterial: Uint8Array): Uint8Array {
  const { salt, recordSizeBytes, headerBytes } = readAes128gcmHeader(content);
  const { key, nonce } = deriveKeyAndNonce(inputKeyingMaterial, salt);
  const parts: Uint8Array[] = [];
  let sequence = 0;
  let isLast = false;
  for (let offset = headerBytes; offset < content.length; offset += recordSizeBytes) {
    if (isLast) throw failure('Further bytes follow the last record.');
    const record = openRecord(
      content.subarray(offset, offset + recordSizeBytes),
      key,
      recordNonce(nonce, sequence),
    );
    const delimiterAt = record.findLastIndex((octet) => octet !== 0);
    const delimiter = record[delimiterAt];
    if (delimiter !== moreDelimiter && delimiter !== lastDelimiter)
      throw failure('A record has no delimiter.');
    isLast = delimiter === lastDelimiter;
    parts.push(record.subarray(0, delimiterAt));
    sequence += 1;
  }
  if (!isLast) throw failure('The content ends before its last record.');
  return Buffer.concat(parts);
}

function openRecord(record: Uint8Array, key: Uint8Array, nonce: Uint8Array): Uint8Array {
  if (record.length < recordOverheadBytes) throw failure(`A record of ${record.length} bytes is too short.`);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(record.subarray(record.length - tagBytes));
  const opened = decipher.update(record.subarray(0, record.length - tagBytes));
  try {
    decipher.final();
  } catch (cause) {
    throw failure('A record was changed, or was encrypted for another key.', cause);
  }
  return opened;
}

/** Derives key and nonce (RFC 8188 §2.2, §2.3). */
function deriveKeyAndNonce(
  inputKeyingMaterial: Uint8Array,
  salt: Uint8Array,
): { key: Uint8Array; nonce: Uint8Array } {
  return {
    key: new Uint8Array(hkdfSync('sha256', inputKeyingMaterial, salt, keyInfo, 16)),
    nonce: new Uint8Array(hkdfSync('sha256', inputKeyingMaterial, salt, nonceInfo, 12)),
  };
}

/** RFC 8188 §2.3: the nonce of a record is the derived nonce XOR its sequence number. */
function recordNonce(nonce: Uint8Array, sequence: number): Uint8Array {
  if (sequence === 0) return nonce;
  const ofRecord = Uint8Array.from(nonce);
  const view = new DataView(ofRecord.buffer);
  view.setUint32(8, view.getUint32(8) ^ sequence);
  return ofRecord;
}

function failure(message: string, cause?: unknown): DeskbellError {
  return new DeskbellError('ERR_DECRYPTION_FAILED', message, { cause });
}

// RFC 8291's addition to RFC 8188: derives the keying material of a push message from the ECDH secret and the
// subscription's authentication secret.

/** `WebPush: info` ‖ 0x00 ‖ ua_public(65) ‖ as_public(65) */
const label = Buffer.from('WebPush: info\0');

/**
 * Derives the input keying material of a push message.
 *
 * @param ecdhSecret 32 bytes
 * @param auth 16 bytes
 * @param userAgentPublicKey the subscription's p256dh, 65 bytes
 * @param applicationServerPublicKey the key made for this message, 65 bytes
 * @returns 32 bytes
 * @see RFC 8291 §3.4
 */
export function deriveKeyingMaterial(
  ecdhSecret: Uint8Array,
  auth: Uint8Array,
  userAgentPublicKey: Uint8Array,
  applicationServerPublicKey: Uint8Array,
): Uint8Array {
  const info = Buffer.allocUnsafe(label.length + 2 * pointBytes);
  info.set(label);
  info.set(userAgentPublicKey, label.length);
  info.set(applicationServerPublicKey, label.length + pointBytes);
  return new Uint8Array(hkdfSync('sha256', ecdhSecret, auth, info, 32));
}
