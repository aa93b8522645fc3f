// Splits a text into lines, with one of them in memory at a time.

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; `undefined` for a line that is longer than the limit. */
  readonly text: string | undefined;
}

/** Empty lines come too. */
export async function* splitLines(
  chunks: AsyncIterable<string>,
  maxCharacters: number,
): AsyncGenerator<Line, undefined> {
  let number = 0;
  let text = '';
  let isTooLong = false;
  const end = (rest: string): Line => {
    const line = text + rest;
    const isWhole = !isTooLong && line.length <= maxCharacters;
    text = '';
    isTooLong = false;
    number += 1;
    return { number, text: isWhole ? line.replace(/\r$/, '') : undefined };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', start)) {
      yield end(chunk.slice(start, at));
      start = at + 1;
    }
    if (!isTooLong) text += chunk.slice(start);
    if (text.length > maxCharacters) {
      isTooLong = true;
      text = '';
    }
  }
  if (text !== '' || isTooLong) yield end('');
  return undefined;
}
