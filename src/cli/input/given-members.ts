// Finds the members of a subscription in what programs have: an object with all of them, or with a subscription in it, as an
// object or as the JSON of one, under whatever name.
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json-object.ts';
import { isPlainName, listNames, type ColumnNames, type Member, type MemberOf } from './member-names.ts';
import { open, unwrap } from './unwrap.ts';

export type Row = JsonObject;

export interface GivenMember {
  readonly value: unknown;
  /** JSON Pointer into the row. */
  readonly pointer: string;
}

/** What is null or an empty text is not there. */
export interface GivenMembers {
  /** What the subscription itself says goes before what the row does. */
  ofSubscription(member: Member): GivenMember | undefined;
  /** What the row says goes before what the subscription does. */
  ofRow(member: Member | keyof ColumnNames): GivenMember | undefined;
}

/** An object with its members by what they are, under whatever name. */
interface Level {
  readonly object: Row;
  readonly pointer: string;
  readonly members: ReadonlyMap<Member | keyof ColumnNames, GivenMember>;
}

/** No program has a subscription deeper in a row. */
const maxDepth = 6;

/** @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID for a text that begins as an object in JSON and is none */
export function findMembers(row: Row, memberOf: MemberOf): GivenMembers {
  const levels = findLevels(row, memberOf);
  const sources = levels.flatMap((level) => {
    const keys = level.members.get('keys');
    const object = keys && readObject(keys);
    return [level, ...(object ? [readLevel(object, `${keys!.pointer}`, memberOf)] : [])];
  });
  return {
    ofSubscription: (member) => sources.findLast(({ members }) => members.has(member))?.members.get(member),
    ofRow: (member) => sources.find(({ members }) => members.has(member))?.members.get(member),
  };
}

/** Whether the row has a subscription: an endpoint, or an object with one that is the only one. */
export const hasSubscription = (row: Row, memberOf: MemberOf): boolean => {
  const levels = findLevels(row, memberOf);
  return levels.length > 1 || levels[0]!.members.has('endpoint');
};

/** The row, and the objects in it that lead to its subscription. */
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

/** Whether there is an endpoint in it, in objects but not in arrays. */
function hasEndpoint(object: Row, memberOf: MemberOf, depth = 1): boolean {
  return Object.entries(object).some(([name, value]) => {
    const inner = open(value);
    if (isJsonObject(inner)) return depth < maxDepth && hasEndpoint(inner, memberOf, depth + 1);
    return inner !== null && inner !== '' && memberOf(name) === 'endpoint';
  });
}

/** The names in a row and in the objects in it, for an error: never a value. */
export function describeNames(row: Row): string {
  const names = Object.entries(row).map(([name, value]) =>
    isJsonObject(value) && isPlainName(name) ? `${name} (with ${listNames(Object.keys(value))})` : name,
  );
  return listNames(names, (name) => isPlainName(name.replace(/ \(with .*\)$/, '')));
}

function readLevel(object: Row, pointer: string, memberOf: MemberOf): Level {
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

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function readObject({ value, pointer }: GivenMember): Row | undefined {
  const inner = open(value);
  if (isJsonObject(inner)) return inner;
  if (typeof inner !== 'string' || !inner.trimStart().startsWith('{')) return undefined;
  // The parser's message would quote the text, and with it an endpoint or a key.
  const detail = 'The text begins as an object in JSON and is not well-formed.';
  const fault: FieldError = { pointer, code: 'ERR_FIELD_VALUE', detail };
  throw new DeskbellError('ERR_SUBSCRIPTION_INVALID', detail, { fields: [fault] });
}
