// Reads a table in CSV with a header as lines of JSON, one for each row, under the names that applications give the
// columns of a subscription.
import { pipeline, Readable } from 'node:stream';
import csvParser from 'csv-parser';
import type { Line } from './read-lines.ts';

/** Names of columns, in lower case and without anything but letters and digits. */
const columns: Readonly<Record<string, string>> = {
  subscription: 'subscription',
  endpoint: 'endpoint',
  p256dh: 'p256dh',
  keysp256dh: 'p256dh',
  publickey: 'p256dh',
  auth: 'auth',
  keysauth: 'auth',
  authtoken: 'auth',
  vapidpublickey: 'vapidPublicKey',
  tags: 'tags',
};

const normalized = (header: string): string => header.toLowerCase().replaceAll(/[^a-z\d]/g, '');

const columnOf = (header: string): string | null => columns[normalized(header)] ?? null;

/** True for a first line that names the column of endpoints, or one of whole subscriptions. */
export function isTableHeader(line: string): boolean {
  const names = new Set(line.split(/[,;\t]/).map((name) => columnOf(name)));
  return !/^\s*[[{]/.test(line) && (names.has('endpoint') || names.has('subscription'));
}

/** A row that goes on for longer has a quotation mark too many. */
const maxRowBytes = 1_048_576;

export interface TableOptions {
  readonly maxLineBytes: number;
  /** The column that holds the user. */
  readonly userColumn: string;
}

/** @param header the first line: commas, semicolons or tabs separate its columns */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  { header, maxLineBytes, userColumn }: TableOptions & { readonly header: string },
): AsyncGenerator<Line> {
  const separator = [',', ';', '\t'].find((one) => header.includes(one)) ?? ',';
  const memberOf = (name: string) =>
    normalized(name) === normalized(userColumn) ? userColumn : columnOf(name);
  const parser = csvParser({ separator, maxRowBytes, mapHeaders: (column) => memberOf(column.header) });
  // An error of either reaches the loop.
  pipeline(Readable.from(chunks), parser, () => {});
  let number = 1;
  for await (const row of parser as AsyncIterable<Record<string, string>>) {
    number += 1;
    const { subscription, ...members } = row;
    const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''));
    const text =
      subscription === undefined
        ? JSON.stringify(given)
        : addMembers(subscription, { [userColumn]: given[userColumn], tags: given['tags'] });
    yield { number, text: Buffer.byteLength(text) > maxLineBytes ? undefined : text };
  }
}

/** The JSON of a subscription, with what other columns say of it. What is no object is refused where it is read. */
function addMembers(subscription: string, members: Readonly<Record<string, string | undefined>>): string {
  try {
    const value: unknown = JSON.parse(subscription);
    if (typeof value === 'object' && value !== null) return JSON.stringify({ ...value, ...members });
  } catch {
    // told where it is read
  }
  return subscription;
}
