// Reads the header blocks of responses (RFC 7541). We announce a header table of size 0, so that the peer sends simple
// blocks and keeps no table for us. But a peer may use 4096 bytes until it has seen our setting, and some never obey
// it (h2o 2.2.5). So we always keep a table of that size and read every block.
//
// Responses resemble each other: `server` stays the same, and so does `date` for a second. So the decoder remembers the
// fields of the last block. A literal with the same bytes at the same position is not decoded and checked again.
import type { PushResponse } from '../../protocol/outcome.ts';
import { defaultHeaderTableBytes, ErrorCode, Http2Fault, maxHeaderListBytes } from './protocol.ts';
import { staticTable } from './hpack-encoder.ts';

export interface HeaderBlock {
  /** 0 if the block has no `:status`, as in trailers. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Set if the block is readable but violates RFC 9113 §8. This is a stream error. */
  readonly fault?: string;
  /** The response for this header block without a body, made when it is first needed. */
  response?: PushResponse;
}

interface Field {
  /** The bytes of a literal field; `undefined` if its name comes from the dynamic table. */
  readonly raw: Uint8Array | undefined;
  readonly name: string;
  readonly value: string;
  readonly fault: string | undefined;
}

const connectionFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);
const legalName = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// RFC 9113 §8.2.1: no NUL, CR or LF, and no white space at either end.
const legalValue = /^(?![\t ])[^\0\r\n]*(?<![\t ])$/;

const staticFields: readonly Field[] = staticTable.map(([name, value]) => ({
  raw: undefined,
  name,
  value,
  fault: faultOf(name, value),
}));

export class HpackDecoder {
  readonly #maxTableBytes: number;
  readonly #table: DynamicTable;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #lastFields: Field[] = [];
  #lastBlock: HeaderBlock | undefined;

  /** @param maxTableBytes the initial size, and the maximum that the peer may ever use */
  constructor(maxTableBytes = defaultHeaderTableBytes) {
    this.#maxTableBytes = maxTableBytes;
    this.#table = new DynamicTable(maxTableBytes);
  }

  /**
   * Reads the block in `bytes` from `start` to `end` (exclusive). Every block of a connection must be read in order,
   * even for closed streams, because each may change the table.
   *
   * @throws {Http2Fault} COMPRESSION_ERROR, or ENHANCE_YOUR_CALM if the list is too long
   */
  decode(bytes: Buffer, start: number, end: number): HeaderBlock {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#readTableSizes();
    let listBytes = 0;
    let count = 0;
    let isSame = true;
    for (; this.#at < end; count += 1) {
      const last = this.#lastFields[count];
      const field = this.#readField(last);
      if (field !== last) {
        this.#lastFields[count] = field;
        isSame = false;
      }
      listBytes += field.name.length + field.value.length + entryOverheadBytes;
      // the table may contain fields that are much longer than the block that refers to them
      if (listBytes > maxHeaderListBytes) {
        const message = `a header list of more than ${maxHeaderListBytes} bytes`;
        throw new Http2Fault(ErrorCode.enhanceYourCalm, message);
      }
    }
    if (isSame && count === this.#lastFields.length && this.#lastBlock !== undefined) return this.#lastBlock;
    this.#lastFields.length = count;
    this.#lastBlock = collect(this.#lastFields);
    return this.#lastBlock;
  }

  /** Reads table size updates, which may begin a block (RFC 7541 §4.2). */
  #readTableSizes(): void {
    while (this.#at < this.#end && ((this.#bytes[this.#at] as number) & 0xe0) === 0x20) {
      const tableBytes = this.#readInteger(5);
      if (tableBytes > this.#maxTableBytes) throw compressionFault('a header table that was not offered');
      this.#table.resize(tableBytes);
    }
  }

  /**
   * Reads one field (RFC 7541 §6).
   *
   * @param last the field at the same position in the previous block
   */
  #readField(last: Field | undefined): Field {
    const first = this.#bytes[this.#at] as number;
    if (first >= 0x80) return this.#entry(this.#readInteger(7));
    if ((first & 0xe0) === 0x20) throw compressionFault('a table size behind a field');
    const isInserted = first >= 0x40;
    let field = last;
    if (field?.raw !== undefined && this.#isNext(field.raw)) this.#at += field.raw.length;
    else field = this.#readLiteral(isInserted ? 6 : 4);
    if (isInserted) this.#table.insert(field);
    return field;
  }

  #readLiteral(prefixBits: number): Field {
    const start = this.#at;
    const index = this.#readInteger(prefixBits);
    const name = index === 0 ? this.#readString() : this.#entry(index).name;
    const value = this.#readString();
    const isSelfContained = index <= staticFields.length;
    const raw = isSelfContained ? Uint8Array.prototype.slice.call(this.#bytes, start, this.#at) : undefined;
    return { raw, name, value, fault: faultOf(name, value) };
  }

  /** Looks up an index (RFC 7541 §2.3.3): first in the static table, then in the dynamic one, newest entry first. */
  #entry(index: number): Field {
    const field = staticFields[index - 1] ?? this.#table.get(index - 1 - staticFields.length);
    if (field === undefined) throw compressionFault(`index ${index}, which the header table does not have`);
    return field;
  }

  #isNext(raw: Uint8Array): boolean {
    if (this.#at + raw.length > this.#end) return false;
    for (let index = 0; index < raw.length; index += 1) {
      if (this.#bytes[this.#at + index] !== raw[index]) return false;
    }
    return true;
  }

  /** Reads an integer (RFC 7541 §5.1). */
  #readInteger(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#readByte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#readByte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      // integers of more than 28 bits are refused
      if (shift === 21) throw compressionFault('an integer that is too large');
    }
  }

  /** Reads a string (RFC 7541 §5.2). */
  #readString(): string {
    const isHuffman = this.#at < this.#end && (this.#bytes[this.#at] as number) >= 0x80;
    const length = this.#readInteger(7);
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#end) throw compressionFault('a string that ends behind its block');
    if (!isHuffman) return this.#bytes.toString('latin1', start, this.#at);
    const text = decodeHuffman(this.#bytes, start, this.#at);
    if (text === undefined) throw compressionFault('a string that is not Huffman code');
    return text;
  }

  #readByte(): number {
    if (this.#at >= this.#end) throw compressionFault('a block that ends within a field');
    const byte = this.#bytes[this.#at] as number;
    this.#at += 1;
    return byte;
  }
}

function faultOf(name: string, value: string): string | undefined {
  if (!legalName.test(name)) return 'an illegal field name';
  if (!legalValue.test(value)) return 'an illegal field value';
  if (connectionFields.has(name)) return `the field ${name}, which HTTP/2 does not have`;
  const isLegalPseudo = name === ':status' && /^[1-9]\d\d$/.test(value);
  return name.startsWith(':') && !isLegalPseudo ? 'an illegal pseudo-header field' : undefined;
}

function collect(fields: readonly Field[]): HeaderBlock {
  let status = 0;
  // the object has no prototype, because a field may be called `constructor`
  const headers = Object.create(null) as Record<string, string>;
  for (const [index, { name, value, fault }] of fields.entries()) {
    if (fault !== undefined) return { status, headers, fault };
    // RFC 9113 §8.3.2: `:status` is the only pseudo-header and comes first
    if (index > 0 && name === ':status') return { status, headers, fault: 'a :status that is not the first' };
    if (name === ':status') status = Number(value);
    else {
      const known = headers[name];
      headers[name] = known === undefined ? value : `${known}, ${value}`;
    }
  }
  return { status, headers };
}

function compressionFault(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.compressionError, `a header block with ${what}`);
}

// Decodes HPACK's Huffman code (RFC 7541 appendix B). The code is canonical, so code lengths alone define it. There
// is no encoder: most of what we write is random text, which the code does not shorten.

/** The code length in bits of each symbol, 0…255 and EOS (256), as one base-36 digit. */
const codeLengths =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq' +
  'u';
const eos = 256;
const maxCodeBits = 30;
const shortCodeBits = 8;

/** Symbols in the order of their codes. */
const symbols = Uint16Array.from({ length: codeLengths.length }, (_, symbol) => symbol).sort(
  (a, b) => bitsOf(a) - bitsOf(b) || a - b,
);
/**
 * For each code length: the index in `symbols` of the first symbol with a code of that length, that code, and the code
 * after the last one of that length. Codes are left-aligned to 30 bits.
 */
const firstIndex: number[] = [];
const firstCode: number[] = [];
const nextCode: number[] = [];
/**
 * For each possible byte: the code at the start of the byte, as `length << 9 | symbol`; 0 if the code is longer than a
 * byte.
 */
const shortCodes = new Uint16Array(1 << shortCodeBits);

buildTables();

/** A buffer for the output, which grows to the longest text. */
let scratch = Buffer.allocUnsafeSlow(1024);

/** @returns the text, one character per byte; `undefined` if the bytes are not valid Huffman code */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  // the shortest code has 5 bits
  if ((end - start) * 8 > scratch.length * 5) scratch = Buffer.allocUnsafeSlow((end - start) * 2);
  let length = 0;
  const endBit = end * 8;
  for (let bit = start * 8; bit < endBit;) {
    const window = readBits(bytes, bit, end);
    const short = shortCodes[window >>> (maxCodeBits - shortCodeBits)] as number;
    const entry = short === 0 ? findLong(window) : short;
    const symbol = entry & 0x1ff;
    const nextBit = bit + (entry >> 9);
    if (nextBit > endBit) {
      // RFC 7541 §5.2: the last byte is padded with ones, the start of EOS; `readBits` adds more ones
      if (endBit - bit >= 8 || window !== 2 ** maxCodeBits - 1) return undefined;
      break;
    }
    if (symbol === eos) return undefined;
    scratch[length] = symbol;
    length += 1;
    bit = nextBit;
  }
  return scratch.toString('latin1', 0, length);
}

/** Reads 30 bits from position `bit`. All bits after the end of the bytes are ones. */
function readBits(bytes: Uint8Array, bit: number, end: number): number {
  const at = bit >> 3;
  const shift = bit & 7;
  let window = 0;
  for (let index = at; index < at + 4; index += 1) {
    window = (window << 8) | (index < end ? (bytes[index] as number) : 0xff);
  }
  const fifth = at + 4 < end ? (bytes[at + 4] as number) : 0xff;
  return ((window << shift) | (fifth >> (8 - shift))) >>> 2;
}

function findLong(window: number): number {
  let length = shortCodeBits + 1;
  while (window >= (nextCode[length] as number)) length += 1;
  const index = (window - (firstCode[length] as number)) >>> (maxCodeBits - length);
  return (length << 9) | (symbols[(firstIndex[length] as number) + index] as number);
}

function bitsOf(symbol: number): number {
  return Number.parseInt(codeLengths.charAt(symbol), 36);
}

function buildTables(): void {
  let code = 0;
  let index = 0;
  for (let length = 1; length <= maxCodeBits; length += 1) {
    const step = 2 ** (maxCodeBits - length);
    firstCode[length] = code;
    firstIndex[length] = index;
    for (; index < symbols.length && bitsOf(symbols[index] as number) === length; index += 1) {
      if (length <= shortCodeBits) {
        const from = code >>> (maxCodeBits - shortCodeBits);
        shortCodes.fill(
          (length << 9) | (symbols[index] as number),
          from,
          from + 2 ** (shortCodeBits - length),
        );
      }
      code += step;
    }
    nextCode[length] = code;
  }
}

/** RFC 7541 §4.1: the size of an entry in addition to its name and value. */
const entryOverheadBytes = 32;

/** HPACK's dynamic table on the decoder's side (RFC 7541 §2.3.2, §4): the newest fields that fit into its size. */
class DynamicTable {
  /** The newest first. */
  readonly #fields: Field[] = [];
  #bytes = 0;
  #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param age the number of fields that were added later */
  get(age: number): Field | undefined {
    return this.#fields[age];
  }

  /** RFC 7541 §4.4: evicts the oldest fields. A field larger than the table empties the table and is not stored. */
  insert(field: Field): void {
    const bytes = sizeOf(field);
    this.#evict(this.#maxBytes - bytes);
    if (bytes > this.#maxBytes) return;
    this.#fields.unshift(field);
    this.#bytes += bytes;
  }

  /** Changes the size and evicts fields that no longer fit (RFC 7541 §4.3). */
  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#evict(maxBytes);
  }

  #evict(untilBytes: number): void {
    while (this.#fields.length > 0 && this.#bytes > untilBytes) {
      this.#bytes -= sizeOf(this.#fields.pop() as Field);
    }
  }
}

function sizeOf({ name, value }: Field): number {
  return name.length + value.length + entryOverheadBytes;
}
