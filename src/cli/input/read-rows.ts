// Reads the rows of an import from JSON values in any arrangement, or from a CSV table. The first line tells which it
// is. Recognises exports that cannot be imported.
import { typeOf } from '../../errors/check-options.ts';
import { DeskbellError, fieldError } from '../../errors/deskbell-error.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json-object.ts';
import {
  hasSubscription,
  isPlainName,
  listNames,
  memberNames,
  type MemberOf,
  normalizeName,
  open,
  type Row,
} from './column-names.ts';
import { JsonSplitter, type Piece } from './split-json.ts';
import { type Line, splitCells, splitLines, splitTable } from './split-table.ts';

const instead =
  "Put Deskbell's client on your pages: at each reader's next visit it subscribes the browser anew, without asking again (docs/moving.md)";

interface Provider {
  /** One sentence that explains why this service's exports cannot be imported. */
  readonly reason: string;
  /** @param names normalised names */
  fits(names: ReadonlySet<string>, row: Row): boolean;
}

const tokenNames = ['fcmtoken', 'registrationtoken', 'devicetoken', 'firebasetoken', 'token', 'tokens'];

const providers: readonly Provider[] = [
  {
    reason:
      'these are subscriptions of OneSignal, made with a VAPID key whose private half only OneSignal has, so that no other server can send to them (if you have that pair, import it and name its public key in a column vapid_public_key)',
    fits: (names) => names.has('identifier') && !names.has('vapidpublickey'),
  },
  {
    reason:
      'these are registration tokens of Firebase, which hold no subscription and can be sent to through Firebase alone',
    fits: (names, row) =>
      tokenNames.some((name) => names.has(name)) || Object.values(row).some((value) => isToken(value)),
  },
];

const isToken = (value: unknown): boolean =>
  typeof value === 'string'
    ? /^[\w-]{8,}:APA91[\w-]{20,}$/.test(value)
    : (Array.isArray(value) || isJsonObject(value)) && Object.values(value).some(isToken);

/** @returns two sentences about the service that exported the row, without the last full stop */
export function findProvider(row: Row): string | undefined {
  const names = new Set(Object.keys(row).map(normalizeName));
  const found = providers.find((provider) => provider.fits(names, row));
  return found && `${found.reason}. ${instead}`;
}

/** A row, or the name of something else in the file, which is left out because it is not a subscription. */
export type Found = { readonly row: Row } | { readonly leftOut: string };

/** Recognises exported values that are not rows. The returned name comes from the file. */
const namesOfOthers: readonly ((object: Row) => string | undefined)[] = [
  // Django's dumpdata exports rows of other models too
  ({ model, fields }) => (isJsonObject(fields) && typeof model === 'string' ? model : undefined),
  // a phpMyAdmin export also contains a header, databases and other tables
  ({ type, name, version }) =>
    ['header', 'database', 'table'].includes(String(type))
      ? `${String(type)} ${String(name ?? version)}`
      : undefined,
];

/** Members that a row inherits from the object around it. */
const inherited: ReadonlySet<unknown> = new Set([
  'user',
  'tags',
  'vapidPublicKey',
  'createdAt',
  'language',
  'timeZone',
  'channels',
]);

const maxDepth = 8;

/** @throws {DeskbellError} ERR_FIELD_TYPE for a value that is not an object */
export function* findRows(value: unknown, memberOf: MemberOf, around: Row = {}, depth = 0): Generator<Found> {
  const inner = open(value);
  if (Array.isArray(inner)) {
    for (const element of inner) yield* findRows(element, memberOf, around, depth + 1);
    return;
  }
  if (!isJsonObject(inner))
    throw fieldError('ERR_FIELD_TYPE', '', `An object is needed, not ${typeOf(inner)}.`);
  if (hasSubscription(inner, memberOf)) {
    yield { row: withInherited(inner, around, memberOf) };
    return;
  }
  const members = Object.values(inner).map(open);
  const holders = members.filter((member) => holdsRows(member, memberOf, depth));
  if (holders.length === 0) {
    const name = namesOfOthers.map((nameOf) => nameOf(inner)).find((found) => found !== undefined);
    yield name === undefined ? { row: inner } : { leftOut: isPlainName(name) ? name : 'others' };
    return;
  }
  // in a map from name to subscription, every member is a row
  const isMap = holders.some((member) => isJsonObject(member) && hasSubscription(member, memberOf));
  const own = Object.entries(inner).filter(([name]) => inherited.has(memberOf(name)));
  const further = withInherited(Object.fromEntries(own), around, memberOf);
  for (const member of members) {
    if (holders.includes(member) || (isMap && isJsonObject(member)))
      yield* findRows(member, memberOf, further, depth + 1);
  }
}

function holdsRows(value: unknown, memberOf: MemberOf, depth: number): boolean {
  if (depth > maxDepth || typeof value !== 'object' || value === null) return false;
  if (isJsonObject(value) && hasSubscription(value, memberOf)) return true;
  return Object.values(value).some((member) => holdsRows(open(member), memberOf, depth + 1));
}

/** Adds the members of the surrounding objects that the row lacks. */
function withInherited(row: Row, around: Row, memberOf: MemberOf): Row {
  const said = Object.entries(row).filter(([, value]) => value !== null && value !== '');
  const own = new Set(said.map(([name]) => memberOf(name)));
  const missing = Object.entries(around).filter(([name]) => !own.has(memberOf(name)));
  return missing.length === 0 ? row : { ...row, ...Object.fromEntries(missing) };
}

/** Maximum length of a row in characters. A longer object is a container of rows. */
const maxRowCharacters = 1_048_576;

/** A value in an imported file. Nothing has checked yet whether the value is a row. */
export interface GivenValue {
  /** The number of the line, array element or table row, counted from 1. The header of a table counts as a row. */
  readonly number: number;
  /** JSON; undefined if the text is too long. */
  readonly text: string | undefined;
  /**
   * @throws {DeskbellError} ERR_BODY_TOO_LARGE, ERR_JSON_MALFORMED, ERR_LINES_REFUSED (a row does not match its table)
   */
  read(): unknown;
}

/** @throws {DeskbellError} ERR_LINES_REFUSED for a table without endpoints, or text that ends within an array */
export async function* readRows(
  chunks: AsyncIterable<string>,
  memberOf: MemberOf,
): AsyncGenerator<GivenValue> {
  const iterator = chunks[Symbol.asyncIterator]();
  const { start, firstLine } = await readStart(iterator);
  const all = resume(start, iterator);
  // Excel names the separator in the first line, such as `sep=;`
  const separator = /^sep=(.)$/i.exec(firstLine)?.[1];
  if (separator === undefined && !isTableHeader(firstLine, memberOf)) {
    yield* readValues(all);
    return;
  }
  const lines = splitLines(all, maxRowCharacters);
  if (separator !== undefined) await nextText(lines);
  const header = await nextText(lines);
  yield* readTable(lines, header, separator ?? separatorOf(header), memberOf);
}

/** Reads the next line that is not blank. */
async function nextText(lines: AsyncIterator<Line, undefined>): Promise<string> {
  let text: string | undefined = '';
  while (text?.trim() === '') text = (await lines.next()).value?.text;
  return text ?? '';
}

async function* readValues(chunks: AsyncIterable<string>): AsyncGenerator<GivenValue> {
  const splitter = new JsonSplitter(maxRowCharacters);
  for await (const chunk of chunks) for (const piece of splitter.add(chunk)) yield toValue(piece);
  for (const piece of splitter.end()) yield toValue(piece);
  if (splitter.isCutOff)
    throw new DeskbellError(
      'ERR_LINES_REFUSED',
      'the input ends in the middle of an array or object: there may be more',
    );
}

const toValue = ({ number, text }: Piece): GivenValue => ({ number, text, read: () => parseJson(text) });

async function* readTable(
  lines: AsyncIterable<Line>,
  header: string,
  separator: string,
  memberOf: MemberOf,
): AsyncGenerator<GivenValue> {
  const names = namesOf(header, separator);
  const mainColumn = names.findIndex(isNeeded(memberOf));
  if (mainColumn === -1) throw withoutEndpoints(names);
  const form = { separator, columns: names.length, mainColumn, maxCharacters: maxRowCharacters };
  for await (const { number, text, cells } of splitTable(lines, form)) {
    const row = cells && toRow(names, cells);
    yield {
      number,
      text: row ? JSON.stringify(row) : text && JSON.stringify(text),
      read: () => {
        if (text === undefined) throw tooLong();
        if (row) return withWholeNumbers(row, memberOf);
        const detail = `the row has not the ${names.length} cells of the header, or a quotation mark too many`;
        throw new DeskbellError('ERR_LINES_REFUSED', detail);
      },
    };
  }
}

/** Databases write NULL and \N for missing values. If two columns share a name, the first with a value counts. */
function toRow(names: readonly string[], cells: readonly string[]): JsonObject {
  const row: Record<string, string | null> = {};
  for (const [index, name] of names.entries()) {
    const cell = cells[index] ?? '';
    row[name] ??= cell === '' || cell === 'NULL' || cell === String.raw`\N` ? null : cell;
  }
  return row;
}

/** Refuses a user id that is a number which a spreadsheet may have rounded. Spreadsheets keep only fifteen digits. */
function withWholeNumbers(row: JsonObject, memberOf: MemberOf): JsonObject {
  for (const [name, cell] of Object.entries(row)) {
    if (memberOf(name) !== 'user' || !/^\d{15}00+$/.test(String(cell))) continue;
    const detail =
      'This number seems to have lost its last digits in a spreadsheet: export the table without one. If it is right, import it as JSON.';
    throw fieldError('ERR_FIELD_VALUE', `/${name}`, detail);
  }
  return row;
}

function withoutEndpoints(names: readonly string[]): DeskbellError {
  const provider = findProvider(Object.fromEntries(names.map((name) => [name, ''])));
  return new DeskbellError(
    'ERR_LINES_REFUSED',
    provider ??
      `the table has no column of endpoints or subscriptions. Looked for ` +
        `${[...memberNames.endpoint, ...memberNames.subscription].join(', ')}; its first line has: ${listNames(names)}`,
  );
}

const namesOf = (header: string, separator: string): readonly string[] =>
  (splitCells(header, separator)?.cells ?? header.split(separator)).map((name) => name.trim());

const separators = [',', ';', '\t', '|'];

/** The separator that occurs most in the header. */
const separatorOf = (header: string): string =>
  separators.toSorted((one, other) => header.split(other).length - header.split(one).length)[0]!;

const isNeeded = (memberOf: MemberOf) => (name: string) =>
  ['endpoint', 'subscription'].includes(memberOf(name) ?? '');

/** Whether the first line of a file consists of column names. The names may be unknown. */
function isTableHeader(line: string, memberOf: MemberOf): boolean {
  if (/^[[{]/.test(line)) return false;
  const names = namesOf(line, separatorOf(line));
  return names.some(isNeeded(memberOf)) || (names.length > 1 && names.every(isPlainName));
}

/**
 * @param text `undefined` if the line is too long
 * @param further the end of the error message, after "the line is not well-formed JSON"
 * @throws {DeskbellError} ERR_BODY_TOO_LARGE, ERR_JSON_MALFORMED
 */
export function parseJson(
  text: string | undefined,
  further = ', and the first line does not name the columns of a table',
): unknown {
  if (text === undefined) throw tooLong();
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the line, including an endpoint or a key.
    throw new DeskbellError('ERR_JSON_MALFORMED', `the line is not well-formed JSON${further}`);
  }
}

const tooLong = (): DeskbellError =>
  new DeskbellError('ERR_BODY_TOO_LARGE', `the line is longer than ${maxRowCharacters} characters`);

/** Reads until the first line that is not blank. */
async function readStart(
  iterator: AsyncIterator<string>,
): Promise<{ readonly start: string; readonly firstLine: string }> {
  let start = '';
  for (;;) {
    const next = await iterator.next();
    if (!next.done) start += next.value;
    const blank = /^\s*/.exec(start)![0].length;
    const end = start.indexOf('\n', blank);
    if (next.done || end !== -1 || start.length - blank > maxRowCharacters)
      return { start, firstLine: start.slice(blank, end === -1 ? undefined : end).replace(/\r$/, '') };
  }
}

async function* resume(start: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield start;
  yield* { [Symbol.asyncIterator]: () => rest };
}
