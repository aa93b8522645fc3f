// Reads a table in CSV with a header as lines of JSON, one for each row, with the names of the columns.
import { pipeline, Readable } from 'node:stream';
import csvParser from 'csv-parser';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isPlainName, listNames, memberNames, type MemberOf } from './member-names.ts';
import type { Line } from './read-lines.ts';

const separators = [',', ';', '\t'] as const;

const cellsOf = (header: string): readonly string[] =>
  header.split(/[,;\t]/).map((cell) => cell.trim().replaceAll(/^"|"$/g, ''));

const isNeeded = (memberOf: MemberOf) => (name: string) =>
  ['endpoint', 'subscription'].includes(memberOf(name) ?? '');

/** True for a first line that names columns, whatever columns. */
export function isTableHeader(line: string, memberOf: MemberOf): boolean {
  if (/^\s*[[{]/.test(line)) return false;
  const cells = cellsOf(line);
  return cells.some(isNeeded(memberOf)) || (cells.length > 1 && cells.every(isPlainName));
}

/** A row that goes on for longer has a quotation mark too many. */
const maxRowBytes = 1_048_576;

export interface TableOptions {
  readonly maxLineBytes: number;
  readonly memberOf: MemberOf;
}

/**
 * @param header the first line: commas, semicolons or tabs separate its columns
 * @throws {DeskbellError} ERR_LINES_REFUSED where no column can hold an endpoint
 */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  { header, maxLineBytes, memberOf }: TableOptions & { readonly header: string },
): AsyncGenerator<Line> {
  const names = cellsOf(header);
  if (!names.some(isNeeded(memberOf))) {
    throw new DeskbellError(
      'ERR_LINES_REFUSED',
      `the table has no column of endpoints or subscriptions. Looked for ` +
        `${[...memberNames.endpoint, ...memberNames.subscription].join(', ')}; its first line has: ${listNames(names)}`,
    );
  }
  const separator = separators.find((one) => header.includes(one)) ?? ',';
  const parser = csvParser({ separator, maxRowBytes });
  // An error of either reaches the loop.
  pipeline(Readable.from(chunks), parser, () => {});
  // Databases write NULL and \N for what is not there.
  const valueOf = (name: string, value: string): string | null =>
    memberOf(name) === undefined || value === 'NULL' || value === String.raw`\N` ? null : value;
  let number = 1;
  for await (const row of parser as AsyncIterable<Record<string, string>>) {
    number += 1;
    const cells = Object.entries(row).map(([name, value]) => [name, valueOf(name, value)] as const);
    const text = JSON.stringify(Object.fromEntries(cells));
    yield { number, text: Buffer.byteLength(text) > maxLineBytes ? undefined : text };
  }
}
