// Splits a stream of bytes into lines, or a JSON array into its elements, with one of them in memory at a time.

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; `undefined` for a line that is longer than the limit. */
  readonly text: string | undefined;
}

const newline = 0x0a;

/** Puts the pieces of a line together and counts lines. */
class LineCollector {
  readonly #maxLineBytes: number;
  #number = 0;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  add(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length <= this.#maxLineBytes) this.#pieces.push(piece);
  }

  /** @returns `undefined` for an empty line, which is counted */
  end(): Line | undefined {
    this.#number += 1;
    const isTooLong = this.#length > this.#maxLineBytes;
    const text = isTooLong ? undefined : Buffer.concat(this.#pieces).toString('utf8').trim();
    this.#pieces = [];
    this.#length = 0;
    return text === '' ? undefined : { number: this.#number, text };
  }
}

/** Empty lines are counted and skipped. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { maxLineBytes }: { readonly maxLineBytes: number },
): AsyncGenerator<Line> {
  const collector = new LineCollector(maxLineBytes);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      collector.add(chunk.subarray(start, end));
      start = end + 1;
      const line = collector.end();
      if (line) yield line;
    }
    collector.add(chunk.subarray(start));
  }
  const last = collector.end();
  if (last) yield last;
}

const [quote, backslash, comma] = Buffer.from('"\\,');
const opening = new Set(Buffer.from('[{'));
const closing = new Set(Buffer.from(']}'));

/**
 * Splits a JSON array into its elements. They are only told apart here, by brackets and commas outside of strings
 * (RFC 8259 §2): whether each is well-formed is seen when it is parsed.
 *
 * @returns the elements as lines, numbered from 1; what follows the array is not read
 */
export async function* readJsonArray(
  chunks: AsyncIterable<Uint8Array>,
  { maxLineBytes }: { readonly maxLineBytes: number },
): AsyncGenerator<Line> {
  const collector = new LineCollector(maxLineBytes);
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  for await (const chunk of chunks) {
    let start = 0;
    for (const [index, byte] of chunk.entries()) {
      if (isEscaped) isEscaped = false;
      else if (isInString) {
        isEscaped = byte === backslash;
        isInString = byte !== quote;
      } else if (byte === quote) isInString = true;
      else if (opening.has(byte)) {
        depth += 1;
        if (depth === 1) start = index + 1;
      } else if (closing.has(byte)) depth -= 1;
      const isEnd = !isInString && (depth === 0 ? closing.has(byte) : depth === 1 && byte === comma);
      if (!isEnd) continue;
      collector.add(chunk.subarray(start, index));
      start = index + 1;
      const element = collector.end();
      if (element) yield element;
      if (depth === 0) return;
    }
    if (depth > 0) collector.add(chunk.subarray(start));
  }
  // The array was cut off.
  const rest = collector.end();
  if (rest) yield rest;
}
