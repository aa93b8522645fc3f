// Reads the header blocks of answers (RFC 7541). We announce a header table of size 0, so that every block stands for
// itself: there is no dynamic table here, and a block of a stream that is no longer known need not be read at all.
import { decodeHuffman } from './huffman.ts';
import { ErrorCode, Http2Fault } from './protocol.ts';
import { staticTable } from './static-table.ts';

export interface HeaderBlock {
  /** 0 for a block without `:status`: trailers. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Set where the block can be read but breaks the rules of RFC 9113 §8: a stream error. */
  readonly fault?: string;
}

/** As RFC 9113 §6.5.2 counts: name, value and 32 for each field. A block of a few bytes can name much more. */
export const maxHeaderListBytes = 32_768;

const connectionFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);
const legalName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// RFC 9113 §8.2.1: no NUL, CR, LF, and no white space at either end.
const legalValue = /^(?![\t ])[^\0\r\n]*(?<![\t ])$/;

/** @throws {Http2Fault} COMPRESSION_ERROR, or ENHANCE_YOUR_CALM for a list that is too long */
export function decodeHeaderBlock(bytes: Buffer, start: number, end: number): HeaderBlock {
  return new BlockReader(bytes, start, end).read();
}

class BlockReader {
  readonly #bytes: Buffer;
  #at: number;
  readonly #end: number;
  #status = 0;
  #fault: string | undefined;
  #listBytes = 0;
  // Without a prototype: a field may be called `constructor`.
  readonly #headers = Object.create(null) as Record<string, string>;
  #hasFields = false;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  read(): HeaderBlock {
    while (this.#at < this.#end) this.#readField();
    const block = { status: this.#status, headers: this.#headers };
    return this.#fault === undefined ? block : { ...block, fault: this.#fault };
  }

  /** RFC 7541 §6. */
  #readField(): void {
    const first = this.#bytes[this.#at] as number;
    if (first >= 0x80) {
      const [name, value] = staticEntry(this.#readInteger(7));
      this.#add(name, value);
    } else if (first >= 0x40) this.#readLiteral(6);
    else if (first >= 0x20) this.#readTableSize();
    else this.#readLiteral(4);
  }

  /** What would be put into a table of size 0 is not put anywhere (RFC 7541 §4.4). */
  #readLiteral(prefixBits: number): void {
    const index = this.#readInteger(prefixBits);
    const name = index === 0 ? this.#readString() : staticEntry(index)[0];
    if (index === 0 && !legalName.test(name) && !name.startsWith(':'))
      this.#fault ??= 'an illegal field name';
    this.#add(name, this.#readString());
  }

  #readTableSize(): void {
    if (this.#readInteger(5) !== 0) throw compressionFault('a header table that was not offered');
  }

  #add(name: string, value: string): void {
    this.#listBytes += name.length + value.length + 32;
    if (this.#listBytes > maxHeaderListBytes) {
      throw new Http2Fault(
        ErrorCode.enhanceYourCalm,
        `a header list of more than ${maxHeaderListBytes} bytes`,
      );
    }
    if (name.charCodeAt(0) === 0x3a) {
      this.#addStatus(name, value);
      return;
    }
    this.#hasFields = true;
    if (!legalValue.test(value)) this.#fault ??= 'an illegal field value';
    if (connectionFields.has(name)) this.#fault ??= `the field ${name}, which HTTP/2 does not have`;
    const known = this.#headers[name];
    this.#headers[name] = known === undefined ? value : `${known}, ${value}`;
  }

  /** RFC 9113 §8.3.2: `:status` alone, once, before all other fields. */
  #addStatus(name: string, value: string): void {
    if (name !== ':status' || this.#status !== 0 || this.#hasFields || !/^[1-9]\d\d$/.test(value)) {
      this.#fault ??= 'an illegal pseudo-header field';
    } else this.#status = Number(value);
  }

  /** RFC 7541 §5.1. */
  #readInteger(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#readByte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#readByte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      // Nothing that we accept needs more than 28 bits.
      if (shift === 21) throw compressionFault('an integer that is too large');
    }
  }

  /** RFC 7541 §5.2. */
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

function staticEntry(index: number): readonly [name: string, value: string] {
  const found = staticTable[index - 1];
  if (found === undefined) throw compressionFault(`index ${index}, which the header table does not have`);
  return found;
}

function compressionFault(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.compressionError, `a header block with ${what}`);
}
