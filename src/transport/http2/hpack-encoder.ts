// Writes the header blocks of push requests (RFC 7541). Fields that messages share (authority, VAPID, TTL, …) go into
// the peer's dynamic table once and then cost a byte each. Path and length differ, and are plain literals.
import type { PushHeaders } from '../transport.ts';
import { defaultHeaderTableBytes } from './protocol.ts';

/** HPACK's static table: names and values. An index on the wire is one higher than the index in this array. */
export const staticTable: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** The encoded fields of a block, except path and length. */
export interface EncodedFields {
  /** Table size updates, then `:method`, `:scheme` and `:authority`. */
  readonly pseudo: Uint8Array;
  readonly fields: Uint8Array;
}

const methodPost = 0x83;
const schemeHttps = 0x87;

const staticNames = new Map<string, number>();
for (const [index, [name]] of staticTable.entries()) {
  if (!staticNames.has(name)) staticNames.set(name, index + 1);
}
const pathIndex = 4;
const contentLengthIndex = 28;
/** RFC 8030 §7.2: every push service accepts bodies of this size. */
const maxUsualBodyBytes = 4096;

export class HpackEncoder {
  readonly #authority: string;
  /** The size of the peer's table in bytes: the default, until the peer sets it. */
  #tableBytes = defaultHeaderTableBytes;
  #isResized = false;
  /** Maps each field in the table to its insertion number, oldest first. */
  #table = new Map<string, { readonly insertion: number; readonly bytes: number }>();
  #usedBytes = 0;
  /** Number of insertions so far. On the wire, the index of an entry counts back from this number. */
  #insertions = 0;
  /** Cached encodings that insert nothing into the table. Each is valid until the next insertion. */
  readonly #known = new WeakMap<PushHeaders, EncodedFields & { readonly insertions: number }>();

  constructor(authority: string) {
    this.#authority = authority;
  }

  /** Applies the peer's SETTINGS_HEADER_TABLE_SIZE: empties the table and says so in the next block (RFC 7541 §4.2). */
  resize(peerTableBytes: number): void {
    const tableBytes = Math.min(peerTableBytes, defaultHeaderTableBytes);
    if (tableBytes === this.#tableBytes) return;
    this.#tableBytes = tableBytes;
    this.#isResized = true;
    this.#table = new Map();
    this.#usedBytes = 0;
    this.#insertions += 1;
  }

  /** Encodes the fields of the next block. The caller must write `pseudo` and then `fields` before the next call. */
  encode(headers: PushHeaders): EncodedFields {
    const known = this.#known.get(headers);
    if (known !== undefined && known.insertions === this.#insertions && !this.#isResized) return known;
    const insertionsBefore = this.#insertions;
    const pseudo: number[] = [];
    const fields: number[] = [];
    if (this.#isResized) {
      putInteger(pseudo, 0x20, 5, 0);
      putInteger(pseudo, 0x20, 5, this.#tableBytes);
    }
    pseudo.push(methodPost, schemeHttps);
    this.#putField(pseudo, ':authority', this.#authority);
    for (const [name, value] of Object.entries(headers)) this.#putField(fields, name, value);
    const encoded = {
      pseudo: Uint8Array.from(pseudo),
      fields: Uint8Array.from(fields),
      insertions: this.#insertions,
    };
    if (this.#insertions === insertionsBefore && !this.#isResized) this.#known.set(headers, encoded);
    this.#isResized = false;
    return encoded;
  }

  #putField(block: number[], name: string, value: string): void {
    const field = `${name}\0${value}`;
    const entry = this.#table.get(field);
    if (entry !== undefined) {
      putInteger(block, 0x80, 7, staticTable.length + this.#insertions - entry.insertion);
      return;
    }
    // RFC 7541 §4.1. A field that would evict most of the table is not inserted.
    const bytes = name.length + value.length + 32;
    const isInserted = bytes <= this.#tableBytes / 2;
    const nameIndex = staticNames.get(name) ?? 0;
    putInteger(block, isInserted ? 0x40 : 0, isInserted ? 6 : 4, nameIndex);
    if (nameIndex === 0) putString(block, name);
    putString(block, value);
    if (isInserted) this.#insert(field, bytes);
  }

  #insert(field: string, bytes: number): void {
    for (const [oldest, { bytes: oldestBytes }] of this.#table) {
      if (this.#usedBytes + bytes <= this.#tableBytes) break;
      this.#table.delete(oldest);
      this.#usedBytes -= oldestBytes;
    }
    this.#table.set(field, { insertion: this.#insertions, bytes });
    this.#usedBytes += bytes;
    this.#insertions += 1;
  }
}

const pathPrefixes: Uint8Array[] = [];

/** The bytes before the path in a block: a literal without indexing. */
export function pathPrefix(pathLength: number): Uint8Array {
  return (pathPrefixes[pathLength] ??= encodeBlock((block) => {
    putInteger(block, 0, 4, pathIndex);
    putInteger(block, 0, 7, pathLength);
  }));
}

const contentLengthFields: Uint8Array[] = [];

/** The whole field `content-length`. */
export function contentLengthField(bodyBytes: number): Uint8Array {
  const known = contentLengthFields[bodyBytes];
  if (known !== undefined) return known;
  const field = encodeBlock((block) => {
    putInteger(block, 0, 4, contentLengthIndex);
    putString(block, String(bodyBytes));
  });
  if (bodyBytes <= maxUsualBodyBytes) contentLengthFields[bodyBytes] = field;
  return field;
}

function encodeBlock(put: (block: number[]) => void): Uint8Array {
  const block: number[] = [];
  put(block);
  return Uint8Array.from(block);
}

/** Writes an integer (RFC 7541 §5.1). */
function putInteger(block: number[], pattern: number, prefixBits: number, value: number): void {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) {
    block.push(pattern | value);
    return;
  }
  block.push(pattern | mask);
  let rest = value - mask;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) block.push((rest & 0x7f) | 0x80);
  block.push(rest);
}

/** Writes a string without Huffman coding (RFC 7541 §5.2). `text` must be ASCII. */
function putString(block: number[], text: string): void {
  putInteger(block, 0, 7, text.length);
  for (let index = 0; index < text.length; index += 1) block.push(text.charCodeAt(index));
}
