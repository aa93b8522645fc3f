// Splits a JSON array into its elements, with one in memory at a time. Elements are only told apart here, by brackets and
// commas outside of strings (RFC 8259 §2): whether each is well-formed is seen when it is parsed.
import { LineCollector, type Line } from './read-lines.ts';

const [quote, backslash, comma] = Buffer.from('"\\,');
const opening = new Set(Buffer.from('[{'));
const closing = new Set(Buffer.from(']}'));

/** @returns the elements as lines, numbered from 1; what follows the array is not read */
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
