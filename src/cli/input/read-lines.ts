// Splits a stream of bytes into lines, with one line in memory at a time.

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; `undefined` for a line that is longer than the limit. */
  readonly text: string | undefined;
}

const newline = 0x0a;

/** Puts the pieces of a line together and counts lines. */
export class LineCollector {
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
