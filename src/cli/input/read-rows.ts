// Reads the rows of an import, whatever of three forms it has: JSON Lines, a JSON array, or CSV with a header. The first
// line tells which.
import { readJsonArray, readLines, type Line } from './read-lines.ts';
import { isTableHeader, readCsv, type TableOptions } from './read-csv.ts';

const byteOrderMark = '\ufeff';
const newline = 0x0a;

/** @returns rows as lines of JSON: numbered by line, by element of the array, or by row with the header as 1 */
export async function* readRows(
  chunks: AsyncIterable<Uint8Array>,
  options: TableOptions,
): AsyncGenerator<Line> {
  const iterator = chunks[Symbol.asyncIterator]();
  const { bytes, firstLine } = await readStart(iterator, options.maxLineBytes);
  const all = resume(bytes, iterator);
  if (firstLine.startsWith('[')) yield* readJsonArray(all, options);
  else if (isTableHeader(firstLine, options.memberOf)) yield* readCsv(all, { ...options, header: firstLine });
  else yield* readLines(all, options);
}

/** As much as holds the first line with text in it, without a byte order mark. */
async function readStart(
  iterator: AsyncIterator<Uint8Array>,
  maxLineBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly firstLine: string }> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const next = await iterator.next();
    if (!next.done) bytes = Buffer.concat([bytes, next.value]);
    const isMarked = bytes.toString('utf8', 0, 3) === byteOrderMark;
    const text = bytes.subarray(isMarked ? 3 : 0);
    const blank = /^\s*/.exec(text.toString('latin1', 0, maxLineBytes))![0].length;
    const end = text.indexOf(newline, blank);
    if (next.done || end !== -1 || text.length > maxLineBytes) {
      const line = text.subarray(blank, end === -1 ? Math.min(text.length, maxLineBytes) : end);
      return { bytes: text, firstLine: line.toString('utf8').trim() };
    }
  }
}

async function* resume(start: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield start;
  yield* { [Symbol.asyncIterator]: () => rest };
}
