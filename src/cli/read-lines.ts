// Splits a stream of bytes into lines, with one line in memory at a time.

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; `undefined` for a line that is longer than the limit. */
  readonly text: string | undefined;
}

const newline = 0x0a;

/** Empty lines are counted and skipped. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { maxLineBytes }: { readonly maxLineBytes: number },
): AsyncGenerator<Line> {
  let number = 0;
  let pieces: Uint8Array[] = [];
  let length = 0;

  const add = (piece: Uint8Array): void => {
    length += piece.length;
    if (length <= maxLineBytes) pieces.push(piece);
  };
  const endLine = (): Line | undefined => {
    number += 1;
    const text = length > maxLineBytes ? undefined : Buffer.concat(pieces).toString('utf8').trim();
    pieces = [];
    length = 0;
    return text === '' ? undefined : { number, text };
  };

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      const line = endLine();
      if (line) yield line;
    }
    add(chunk.subarray(start));
  }
  const last = endLine();
  if (last) yield last;
}
