// A subscription as one line of JSON, as `deskbell subscriptions` exports and imports it. What it exports has the form of
// `PushSubscription.toJSON()`, which other web push tools accept, with what else the store knows; what it imports may have
// the forms in which applications store subscriptions.
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { checkChoices } from '../../audience/channels.ts';
import { checkLanguage, checkTimeZone } from '../../audience/reader-facts.ts';
import { type UserAndTags, checkTags, checkUser } from '../../audience/user-and-tags.ts';
import type { ReaderFacts } from '../../store/readers.ts';
import type { NewSubscription, StoredSubscription } from '../../store/subscriptions.ts';
import { decodeBase64, encodeBase64url } from '../../protocol/base64.ts';
import { typeOf } from '../../errors/type-of.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { isJsonObject } from '../../protocol/json-object.ts';
import { isP256Point } from '../../protocol/p256.ts';
import { parseSubscription, type Subscription } from '../../protocol/subscription.ts';
import {
  describeNames,
  findMembers,
  type GivenMember,
  type GivenMembers,
  type Row,
} from './given-members.ts';
import { createMemberOf, defaultColumns, memberNames, type Member, type MemberOf } from './member-names.ts';
import { parseDate } from './parse-date.ts';

/** Maximum length of a line: an endpoint has at most 4096 characters, the rest is short. */
export const maxLineBytes = 65_536;

/**
 * Reads a row of an import. Its user and tags are those of the row, where it has any. Without `vapidPublicKey` the subscription
 * belongs to `currentPublicKey`.
 *
 * @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` names what is wrong
 */
export function readImportedRow(
  row: Row,
  policy: EndpointPolicy,
  currentPublicKey: string,
  memberOf: MemberOf,
): NewSubscription {
  const members = findMembers(row, memberOf);
  const read = <Value>(member: Member, check: (value: unknown, pointer: string) => Value) => {
    const given = members.ofRow(member);
    return given && check(given.value, given.pointer);
  };
  return {
    subscription: readSubscription(row, members, policy),
    vapidPublicKey: readPublicKey(members) ?? currentPublicKey,
    assign: readUserAndTags(members),
    createdAtMs: readDate(members),
    language: read('language', checkLanguage),
    timeZone: read('timeZone', checkTimeZone),
    channels: read('channels', (value, pointer) => checkChoices(fromText(value), pointer)),
  };
}

/**
 * Parses a line that is to be sent to: what else it says is not read.
 *
 * @throws {DeskbellError} as `parseRow`, and ERR_SUBSCRIPTION_INVALID
 */
export function parseLine(line: string | undefined, policy: EndpointPolicy): Subscription {
  const row = parseRow(line);
  return readSubscription(row, findMembers(row, memberOfDefault), policy);
}

const memberOfDefault = createMemberOf(defaultColumns);

/** @param facts what holds for the reader: choices of the person go along, those of others keep what their browser said */
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

/**
 * @param line `undefined` for one that is too long
 * @param further what else it is not, after "the line is not well-formed JSON"
 * @throws {DeskbellError} ERR_BODY_TOO_LARGE, ERR_JSON_MALFORMED, ERR_SUBSCRIPTION_INVALID for what is no object
 */
export function parseRow(line: string | undefined, further = ''): Row {
  if (line === undefined) {
    throw new DeskbellError('ERR_BODY_TOO_LARGE', `the line is longer than ${maxLineBytes} bytes`);
  }
  const value = parseJson(line, further);
  if (isJsonObject(value)) return value;
  throw invalid('', 'ERR_FIELD_TYPE', `An object is needed, not ${typeOf(value)}.`);
}

function parseJson(line: string, further: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The parser's message would quote the line, and with it an endpoint or a key.
    throw new DeskbellError('ERR_JSON_MALFORMED', `the line is not well-formed JSON${further}`);
  }
}

const required = ['endpoint', 'p256dh', 'auth'] as const;

/** Faults point to where the row has the member. */
function readSubscription(row: Row, members: GivenMembers, policy: EndpointPolicy): Subscription {
  const given = required.map((name) => [name, members.ofSubscription(name)] as const);
  try {
    return parseSubscription(
      Object.fromEntries(given.map(([name, member]) => [name, member?.value])),
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

/** Where it was looked for, and what the row has instead. */
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

/** Tables have numbers for users, and one text for all tags. */
function readUserAndTags(members: GivenMembers): UserAndTags | undefined {
  const user = members.ofRow('user');
  const tags = members.ofRow('tags');
  if (user === undefined && tags === undefined) return undefined;
  return { user: user && checkUser(toText(user.value), user.pointer), tags: tags ? readTags(tags) : [] };
}

/** A table has choices as a text of JSON. */
function fromText(choices: unknown): unknown {
  try {
    return typeof choices === 'string' ? JSON.parse(choices) : choices;
  } catch {
    return choices;
  }
}

const readTags = ({ value, pointer }: GivenMember): readonly string[] =>
  checkTags(typeof value === 'string' ? (value.match(/[^\s,;]+/g) ?? []) : value, pointer);

const toText = (value: unknown): unknown => (Number.isSafeInteger(value) ? String(value) : value);

function readDate(members: GivenMembers): number | undefined {
  const given = members.ofRow('createdAt');
  if (given === undefined) return undefined;
  const timeMs = parseDate(given.value);
  if (timeMs !== undefined) return timeMs;
  throw invalid(
    given.pointer,
    'ERR_FIELD_VALUE',
    'This is not a date. Needed is one like 2026-03-01 or 2026-03-01 12:00:00, in UTC or with its offset, or ' +
      'seconds or milliseconds since 1970.',
  );
}

function readPublicKey(members: GivenMembers): string | undefined {
  const given = members.ofRow('vapidPublicKey');
  if (given === undefined) return undefined;
  const bytes = typeof given.value === 'string' ? decodeBase64(given.value) : undefined;
  if (bytes && isP256Point(bytes)) return encodeBase64url(bytes);
  const detail = 'vapidPublicKey is not the base64url text of a 65-byte P-256 point.';
  throw invalid(given.pointer, 'ERR_VAPID_KEY_INVALID', detail);
}

function invalid(pointer: string, code: FieldError['code'], detail: string): DeskbellError {
  return new DeskbellError('ERR_SUBSCRIPTION_INVALID', detail, { fields: [{ pointer, code, detail }] });
}
