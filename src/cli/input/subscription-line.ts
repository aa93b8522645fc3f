// Reads and writes a subscription as one row of a file. Exported rows have the form of `PushSubscription.toJSON()`,
// which other tools accept, with additional members. Imported rows may have any form that applications use.
import { findIana } from 'windows-iana';
import { checkChoices, type Choices } from '../../audience/channels.ts';
import { readTimeZone } from '../../audience/reader-facts.ts';
import { checkNewUser, checkTags, type UserAndTags } from '../../audience/user-and-tags.ts';
import { parseWallTime } from '../../audience/zone-time.ts';
import { typeOf } from '../../errors/check-options.ts';
import { DeskbellError, type FieldError, fieldError } from '../../errors/deskbell-error.ts';
import { encodeBase64url } from '../../protocol/bytes.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { isJsonObject } from '../../protocol/json-object.ts';
import { readLanguage } from '../../protocol/language.ts';
import { isP256Point, pointBytes } from '../../protocol/p256.ts';
import { authBytes, parseSubscription, type Subscription } from '../../protocol/subscription.ts';
import type { ReaderFacts } from '../../store/readers.ts';
import type { NewSubscription, StoredSubscription } from '../../store/subscriptions.ts';
import {
  createMemberOf,
  describeNames,
  findMembers,
  type GivenMember,
  type GivenMembers,
  type Member,
  memberNames,
  type MemberOf,
  open,
  readBytes,
  type Row,
} from './column-names.ts';
import { parseJson } from './read-rows.ts';

const pattern =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:(Z|UTC)|([+-]\d\d):?(\d\d)?)?)?$/;

/** Smaller numbers are taken as seconds. As milliseconds, they would mean a time before March 1973. */
const firstMilliseconds = 100_000_000_000;

/**
 * @param value a date with or without a time, in UTC if it has no zone; or seconds or milliseconds since 1970
 * @returns milliseconds since 1970; undefined for anything else
 */
function parseDate(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).trim();
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text);
    return inRange(Math.round(number < firstMilliseconds ? number * 1000 : number));
  }
  const [, day, time = '00:00', , hours, minutes = '00'] = pattern.exec(text) ?? [];
  // `Date` would turn 31 February into a day in March
  if (parseWallTime(`${day}T00:00`) === undefined) return undefined;
  return inRange(Date.parse(`${day}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`));
}

/** Dates before 2000 are ignored: no subscription is that old, and programs write 1970 for unknown dates. */
const inRange = (timeMs: number): number | undefined =>
  timeMs >= 946_684_800_000 && timeMs <= 8.64e15 ? timeMs : undefined;

/** Maximum length of a line with a recipient, in characters. The endpoint has at most 4096; the rest is short. */
export const maxLineCharacters = 65_536;

/** What messages call the optional values of a subscription, in the plural. */
export type OptionalFact = 'dates' | 'languages' | 'time zones' | 'choices of channels' | 'tags';

export interface ImportedRow extends NewSubscription {
  /** The subscription's `expirationTime`, in milliseconds since 1970. */
  readonly expiresAtMs: number | undefined;
  /** Optional values that the import leaves out of the row because it does not understand them. */
  readonly leftOut: readonly (readonly [fact: OptionalFact, value: unknown])[];
}

/**
 * Reads a row of an import, with its user and tags. A row without `vapidPublicKey` belongs to `currentPublicKey`.
 *
 * @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` names what is wrong
 */
export function readImportedRow(
  row: Row,
  policy: EndpointPolicy,
  currentPublicKey: string,
  memberOf: MemberOf,
): ImportedRow {
  const members = findMembers(row, memberOf);
  const leftOut: [OptionalFact, unknown][] = [];
  const optional = <Value>(
    member: Member,
    fact: OptionalFact,
    read: (value: unknown) => Value | undefined,
  ): Value | undefined => {
    const given = members.ofRow(member);
    const value = given && read(given.value);
    if (given && value === undefined) leftOut.push([fact, given.value]);
    return value;
  };
  return {
    subscription: readSubscription(row, members, policy),
    vapidPublicKey: readPublicKey(members) ?? currentPublicKey,
    assign: readUserAndTags(members, (tag) => leftOut.push(['tags', tag])),
    createdAtMs: optional('createdAt', 'dates', parseDate),
    language: optional('language', 'languages', toLanguage),
    timeZone: optional('timeZone', 'time zones', toTimeZone),
    channels: optional('channels', 'choices of channels', toChoices),
    expiresAtMs: parseDate(members.ofSubscription('expirationTime')?.value),
    leftOut,
  };
}

/**
 * Parses a line with a recipient; further members are ignored.
 *
 * @throws {DeskbellError} ERR_BODY_TOO_LARGE, ERR_JSON_MALFORMED, ERR_SUBSCRIPTION_INVALID
 */
export function parseLine(line: string | undefined, policy: EndpointPolicy): Subscription {
  const row = parseJson(line, '');
  if (!isJsonObject(row)) throw invalid('', 'ERR_FIELD_TYPE', `An object is needed, not ${typeOf(row)}.`);
  return readSubscription(row, findMembers(row, memberOfDefault), policy);
}

const memberOfDefault = createMemberOf();

/** @param facts the person's channel choices, and the language and time zone as the browser sent them */
export function formatLine(row: StoredSubscription, facts: ReaderFacts = { ...row, data: {} }): string {
  return JSON.stringify({
    id: row.id,
    endpoint: row.endpoint,
    keys: { p256dh: encodeBase64url(row.p256dh), auth: encodeBase64url(row.auth) },
    vapidPublicKey: row.vapidPublicKey,
    user: row.user,
    tags: row.tags.length > 0 ? row.tags : undefined,
    language: facts.language,
    timeZone: facts.timeZone,
    channels: Object.keys(facts.channels).length > 0 ? facts.channels : undefined,
    createdAt: new Date(row.createdAtMs).toISOString(),
    updatedAt: new Date(row.updatedAtMs).toISOString(),
  });
}

const required = ['endpoint', 'p256dh', 'auth'] as const;
const keyBytes: Readonly<Record<string, number>> = { p256dh: pointBytes, auth: authBytes };

/** Reads the subscription of a row. Errors point to the member's place in the row. */
function readSubscription(row: Row, members: GivenMembers, policy: EndpointPolicy): Subscription {
  const given = required.map((name) => [name, members.ofSubscription(name)] as const);
  try {
    return parseSubscription(
      Object.fromEntries(given.map(([name, member]) => [name, toText(name, member?.value)])),
      policy,
    );
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    const pointers = new Map(given.map(([name, member]) => [`/${name}`, member?.pointer]));
    const missing = given.flatMap(([name, member]) => (member === undefined ? [name] : []));
    const fields = error.fields
      .filter(({ code }) => code !== 'ERR_FIELD_MISSING')
      .map((field) => ({ ...field, pointer: pointers.get(field.pointer) ?? field.pointer }));
    if (missing.length > 0) fields.push(describeMissing(missing, row));
    throw new DeskbellError(error.code, fields.map(({ detail }) => detail).join(' '), { fields });
  }
}

/** Returns a key as base64url, whatever its form. Returns any other value unchanged. */
function toText(name: string, value: unknown): unknown {
  const length = keyBytes[name];
  const bytes = length === undefined || value === undefined ? undefined : readBytes(value, length);
  return bytes ? encodeBase64url(bytes) : value;
}

/** Says which names were looked for, and which names the row has instead. */
function describeMissing(missing: readonly (typeof required)[number][], row: Row): FieldError {
  const names = missing.flatMap((name) => memberNames[name]);
  return {
    pointer: `/${missing[0]!}`,
    code: 'ERR_FIELD_MISSING',
    detail:
      `${missing.join(', ')} missing. Looked for ${names.join(', ')}, in the row and in its ` +
      `${memberNames.subscription.join(', ')}; the row has: ${describeNames(row)}.`,
  };
}

/** @param leaveOut called with each value that is not a tag */
function readUserAndTags(members: GivenMembers, leaveOut: (tag: unknown) => void): UserAndTags | undefined {
  const user = members.ofRow('user');
  const tags = members.ofRow('tags');
  if (user === undefined && tags === undefined) return undefined;
  return { user: user && readUser(user), tags: tags ? readTags(tags, leaveOut) : [] };
}

/** Reads a user. Refuses a number that is not a safe integer: rounding may have turned it into another person's. */
function readUser({ value, pointer }: GivenMember): string {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return String(value);
    const detail =
      'This number has more digits than a number in JSON keeps, or a fraction: export the user as a text, in quotation marks.';
    throw fieldError('ERR_FIELD_VALUE', pointer, detail);
  }
  if (typeof value === 'string' && /^-?\d+(?:[.,]\d+)?e\+\d+$/i.test(value.trim())) {
    const detail =
      'A spreadsheet has shortened this number, and its last digits are lost: export the user as a text, not through a spreadsheet.';
    throw fieldError('ERR_FIELD_VALUE', pointer, detail);
  }
  return checkNewUser(value, pointer);
}

/** Reads tags. A table has the tags in one cell, as a separated list or as JSON. */
function readTags({ value }: GivenMember, leaveOut: (tag: unknown) => void): readonly string[] {
  const given = open(value);
  const tags = typeof given === 'string' ? (given.match(/[^\s,;]+/g) ?? []) : given;
  const fitting = (Array.isArray(tags) ? tags : [tags]).filter((tag) => {
    const fits = attempt(() => checkTags([tag], '')) !== undefined;
    if (!fits) leaveOut(tag);
    return fits;
  });
  const kept = attempt(() => checkTags(fitting, ''));
  if (kept === undefined) leaveOut(value);
  return kept ?? [];
}

/** `de_DE.UTF-8` is how POSIX writes `de-DE`. */
const toLanguage = (value: unknown): string | undefined =>
  readLanguage(
    typeof value === 'string'
      ? value
          .trim()
          .replace(/[.@].*$/, '')
          .replaceAll('_', '-')
      : value,
  );

/** Windows has its own names; `GMT+1` is `Etc/GMT-1` in the time zone database. */
function toTimeZone(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const name = value.trim();
  const [, sign = '', hours] = /^(?:GMT|UTC)\s?([+-])0?(\d{1,2})(?::?00)?$/i.exec(name) ?? [];
  const [ofWindows] = findIana(name);
  return readTimeZone(
    hours === undefined ? (ofWindows ?? name) : `Etc/GMT${sign === '+' ? '-' : '+'}${hours}`,
  );
}

const toChoices = (value: unknown): Choices | undefined => attempt(() => checkChoices(open(value), ''));

function attempt<Value>(check: () => Value): Value | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof DeskbellError) return undefined;
    throw error;
  }
}

function readPublicKey(members: GivenMembers): string | undefined {
  const given = members.ofRow('vapidPublicKey');
  if (given === undefined) return undefined;
  const bytes = readBytes(given.value, pointBytes);
  if (bytes && isP256Point(bytes)) return encodeBase64url(bytes);
  const detail = 'vapidPublicKey is not the base64url text of a 65-byte P-256 point.';
  throw invalid(given.pointer, 'ERR_VAPID_KEY_INVALID', detail);
}

function invalid(pointer: string, code: FieldError['code'], detail: string): DeskbellError {
  return new DeskbellError('ERR_SUBSCRIPTION_INVALID', detail, { fields: [{ pointer, code, detail }] });
}
