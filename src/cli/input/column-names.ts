// Finds the members of a subscription in the data of other programs: under any name, in any form, anywhere in a row.
import { DeskbellError, escapePointer, type FieldError } from '../../errors/deskbell-error.ts';
import { decodeBase64 } from '../../protocol/bytes.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json-object.ts';
import type { NewSubscription } from '../../store/subscriptions.ts';

/** Other programs' names for each member. Names match in any case, with or without "_", "." and other punctuation. */
export const memberNames = {
  subscription: ['subscription', 'sub', 'push_subscription', 'subscription_info'],
  keys: ['keys'],
  endpoint: ['endpoint', 'identifier'],
  p256dh: [
    'p256dh',
    'keys.p256dh',
    'key_p256dh',
    'p256dh_key',
    'public_key',
    'user_public_key',
    'ua_public',
    'pushkey',
    'web_p256',
  ],
  auth: [
    'auth',
    'keys.auth',
    'key_auth',
    'auth_key',
    'auth_secret',
    'auth_token',
    'user_auth_token',
    'web_auth',
  ],
  vapidPublicKey: ['vapid_public_key'],
  expirationTime: ['expiration_time'],
  createdAt: ['created_at', 'created'],
  language: ['language'],
  timeZone: ['time_zone'],
  channels: ['channels'],
};

export type Member = keyof typeof memberNames;

/** The columns that contain the user and the tags, if their names are not "user" and "tags". */
export interface ColumnNames {
  readonly user?: string | undefined;
  readonly tags?: string | undefined;
}

/** @returns undefined for an unknown name */
export type MemberOf = (name: string) => Member | keyof ColumnNames | undefined;

/** @param ignored names to treat as unknown */
export function createMemberOf(
  { user = 'user', tags = 'tags' }: ColumnNames = {},
  ignored: readonly string[] = [],
): MemberOf {
  const members = new Map<string, Member | keyof ColumnNames>();
  for (const [member, names] of Object.entries(memberNames) as [Member, readonly string[]][]) {
    for (const name of names) members.set(normalizeName(name), member);
  }
  // Names given by flags take precedence over known names: "sub" may be a user rather than a subscription.
  members.set(normalizeName(tags), 'tags').set(normalizeName(user), 'user');
  for (const name of ignored) members.delete(normalizeName(name));
  return (name) => members.get(normalizeName(name));
}

/** Removes differences between the names that programs use: case, "_", "-" and ".". */
export const normalizeName = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\d]/gu, '');

/** Whether a name may be printed. If a table has no header, its "names" are values and may be secret. */
export const isPlainName = (name: string): boolean => /^[\p{L}_$][\p{L}\d_$. -]{0,39}$/u.test(name);

/** Lists names of members for an error. Leaves out names that do not look like identifiers: they may be values. */
export function listNames(names: readonly string[], isShown = isPlainName): string {
  const shown = names.filter((name) => isShown(name)).slice(0, 20);
  const more = names.length - shown.length;
  if (more > 0) shown.push(`${more} more`);
  return shown.length === 0 ? 'no members' : shown.join(', ');
}

// Reads values as databases and programming languages export them: wrapped in JSON objects, or as bytes.

const itself = (inner: unknown): unknown => inner;
const ifText = (inner: unknown): unknown => (typeof inner === 'string' ? inner : undefined);
const ifObject = (inner: unknown): unknown => (isJsonObject(inner) ? inner : undefined);
const ifArray = (inner: unknown): unknown => (Array.isArray(inner) ? inner : undefined);

/** How to unwrap an object whose only member has this name. `undefined` leaves the object as it is. */
const wrappers: Readonly<Record<string, (inner: unknown) => unknown>> = {
  // MongoDB Extended JSON
  $oid: itself,
  $date: itself,
  $numberLong: itself,
  $numberInt: itself,
  $numberDouble: itself,
  $binary: (inner) => (isJsonObject(inner) ? inner['base64'] : inner),
  // DynamoDB
  S: ifText,
  N: ifText,
  B: ifText,
  M: ifObject,
  L: ifArray,
  SS: ifArray,
  BOOL: itself,
  NULL: () => null,
  // Firestore, over REST and from its clients
  stringValue: ifText,
  integerValue: itself,
  doubleValue: itself,
  booleanValue: itself,
  timestampValue: ifText,
  bytesValue: ifText,
  nullValue: () => null,
  mapValue: (inner) => (isJsonObject(inner) ? (inner['fields'] ?? {}) : undefined),
  arrayValue: (inner) => (isJsonObject(inner) ? (inner['values'] ?? []) : undefined),
  _seconds: itself,
};

/** Members that a wrapper may have besides its value. They are ignored. */
const companions: ReadonlySet<string> = new Set(['$type', '_nanoseconds']);

function unwrap(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value);
  if (names.length > 2) return value;
  const [name, ...others] = names.filter((each) => !companions.has(each));
  if (name === undefined || others.length > 0 || !Object.hasOwn(wrappers, name)) return value;
  const inner = wrappers[name]!(value[name]);
  return inner === undefined ? value : unwrap(inner);
}

/** Unwraps a value. Text that contains a JSON object or array is parsed. */
export function open(value: unknown): unknown {
  const inner = unwrap(value);
  if (typeof inner !== 'string' || !/^\s*[[{]/.test(inner)) return inner;
  try {
    return unwrap(JSON.parse(inner));
  } catch {
    return inner;
  }
}

/**
 * Reads bytes in any form that programs write: base64 in either alphabet, even with line breaks or with spaces in place
 * of "+"; hexadecimal digits; an array of numbers; an object with an index for each number; Node's JSON of a `Buffer`.
 *
 * @param length expected number of bytes
 * @returns `undefined` for any other form or length
 */
export function readBytes(given: unknown, length: number): Uint8Array | undefined {
  const value = open(given);
  if (typeof value === 'string') {
    const texts = [
      value,
      value.replaceAll(/\s/g, ''),
      value.replaceAll(/[\r\n\t]/g, '').replaceAll(' ', '+'),
    ];
    const found = texts.map((text) => decodeBase64(text)).find((bytes) => bytes?.length === length);
    const [, digits] = /^(?:\\x|0x)?((?:[\da-f]{2})+)$/i.exec(value.trim()) ?? [];
    return found ?? (digits?.length === 2 * length ? Buffer.from(digits, 'hex') : undefined);
  }
  const listed = isJsonObject(value) && value['type'] === 'Buffer' ? value['data'] : value;
  const numbers = isJsonObject(listed) ? toArray(listed) : listed;
  if (!Array.isArray(numbers) || numbers.length !== length) return undefined;
  return numbers.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
    ? Uint8Array.from(numbers as readonly number[])
    : undefined;
}

/** Returns the values of an object such as `{"0": 4, "1": 17}`, sorted by index. */
const toArray = (byIndex: object): readonly unknown[] =>
  Array.from(Object.keys(byIndex), (_name, index) => (byIndex as Record<number, unknown>)[index]);

export type Row = JsonObject;

export interface GivenMember {
  readonly value: unknown;
  /** Where the member is in the row, as a JSON Pointer. */
  readonly pointer: string;
}

/** Null and empty text are treated as absent. */
export type GivenMembers = ReturnType<typeof findMembers>;

/** A row, or an object in the row, with the members that were recognised. */
type Level = ReturnType<typeof readLevel>;

/** No known program nests a subscription deeper than this. */
const maxDepth = 6;

/** @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID for text that begins like a JSON object but is not one */
export function findMembers(row: Row, memberOf: MemberOf) {
  const levels = findLevels(row, memberOf);
  const sources = levels.flatMap((level) => {
    const keys = level.members.get('keys');
    const object = keys && readObject(keys);
    return [level, ...(object ? [readLevel(object, keys!.pointer, memberOf)] : [])];
  });
  return {
    /**
     * Finds a member in the subscription object. If the subscription has no such member, returns the member of the row
     * around it.
     */
    ofSubscription: (member: Member) =>
      sources.findLast(({ members }) => members.has(member))?.members.get(member),
    /**
     * Finds a member in the row. If the row has no such member, returns the member of the subscription object inside it.
     */
    ofRow: (member: Member | keyof ColumnNames) =>
      sources.find(({ members }) => members.has(member))?.members.get(member),
  };
}

/** Whether the row has a subscription: an endpoint of its own, or exactly one object that contains an endpoint. */
export const hasSubscription = (row: Row, memberOf: MemberOf): boolean => {
  const levels = findLevels(row, memberOf);
  return levels.length > 1 || levels[0]!.members.has('endpoint');
};

/** Finds the row and the objects that lead from it to the subscription. */
function findLevels(row: Row, memberOf: MemberOf): readonly Level[] {
  const levels = [readLevel(row, '', memberOf)];
  for (let next = nextLevel(levels[0]!, memberOf); next && levels.length < maxDepth;) {
    levels.push(next);
    next = nextLevel(next, memberOf);
  }
  return levels;
}

function nextLevel({ object, pointer, members }: Level, memberOf: MemberOf): Level | undefined {
  const named = members.get('subscription');
  const subscription = named && readObject(named);
  if (subscription) return readLevel(subscription, named.pointer, memberOf);
  if (members.has('endpoint')) return undefined;
  const within = Object.entries(object).flatMap(([name, value]) => {
    const inner = open(value);
    return isJsonObject(inner) && hasEndpoint(inner, memberOf) ? [[name, inner] as const] : [];
  });
  if (within.length !== 1) return undefined;
  const [[name, inner]] = within as [readonly [string, Row]];
  return readLevel(inner, `${pointer}/${escapePointer(name)}`, memberOf);
}

/** Whether an object contains an endpoint, itself or in objects within it, but not in arrays. */
function hasEndpoint(object: Row, memberOf: MemberOf, depth = 1): boolean {
  return Object.entries(object).some(([name, value]) => {
    const inner = open(value);
    if (isJsonObject(inner)) return depth < maxDepth && hasEndpoint(inner, memberOf, depth + 1);
    return inner !== null && inner !== '' && memberOf(name) === 'endpoint';
  });
}

/** Lists the names of a row's members, and of the members of its objects, for an error. Shows no values. */
export function describeNames(row: Row): string {
  const names = Object.entries(row).map(([name, value]) =>
    isJsonObject(value) && isPlainName(name) ? `${name} (with ${listNames(Object.keys(value))})` : name,
  );
  return listNames(names, (name) => isPlainName(name.replace(/ \(with .*\)$/, '')));
}

function readLevel(object: Row, pointer: string, memberOf: MemberOf) {
  const members = new Map<Member | keyof ColumnNames, GivenMember>();
  for (const [name, wrapped] of Object.entries(object)) {
    const member = memberOf(name);
    if (member === undefined || members.has(member)) continue;
    const value = unwrap(wrapped);
    if (value === null || value === '') continue;
    members.set(member, { value, pointer: `${pointer}/${escapePointer(name)}` });
  }
  return { object, pointer, members };
}

function readObject({ value, pointer }: GivenMember): Row | undefined {
  const inner = open(value);
  if (isJsonObject(inner)) return inner;
  if (typeof inner !== 'string' || !inner.trimStart().startsWith('{')) return undefined;
  // The parser's message would quote the text, including an endpoint or a key.
  const detail = 'The text begins as an object in JSON and is not well-formed.';
  const fault: FieldError = { pointer, code: 'ERR_FIELD_VALUE', detail };
  throw new DeskbellError('ERR_SUBSCRIPTION_INVALID', detail, { fields: [fault] });
}

// Warns if an import found no user or no tags, because messages to users or tags would not reach the imported
// subscriptions. Names the columns that the rows have instead.

/** Matches names that a user column is likely to have, but not "user_agent". */
const userName = /(?:user|customer|account|member|owner|subscriber|subscribable)_?id$|^(?:uid|user_?name)$/i;

/** @param asked the column names given by the flags */
export function createMissedColumns(asked: ColumnNames) {
  let first: Row | undefined;
  let hasUser = false;
  let hasTags = false;
  return {
    note(row: Row, { assign }: NewSubscription): void {
      first ??= row;
      hasUser ||= assign?.user !== undefined;
      hasTags ||= (assign?.tags ?? []).length > 0;
    },
    /** Returns a sentence for each requested column that was always empty or seems to have another name. */
    sentences(): readonly string[] {
      if (first === undefined) return [];
      const absent = [hasUser ? undefined : asked.user, hasTags ? undefined : asked.tags];
      const likely = Object.keys(first).find((name) => userName.test(name) && isPlainName(name));
      return [
        ...absent.flatMap((name) =>
          name === undefined
            ? []
            : [`No row has anything in "${name}". The first one has: ${describeNames(first!)}.`],
        ),
        ...(hasUser || asked.user !== undefined || likely === undefined
          ? []
          : [
              `No row has a user in "user". If "${likely}" holds it, import again with ` +
                `--user-column ${likely}.`,
            ]),
      ];
    },
  };
}
