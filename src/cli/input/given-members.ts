// Finds the members of a subscription in what applications have: an object with all of them, or with a subscription in it,
// as an object or as the JSON of one.
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json-object.ts';
import { isPlainName, listNames, type ColumnNames, type Member, type MemberOf } from './member-names.ts';

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

/** An object's members by what they are, under whatever name. */
type Source = ReadonlyMap<Member | keyof ColumnNames, GivenMember>;

/** @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID for a text that begins as an object in JSON and is none */
export function findMembers(row: Row, memberOf: MemberOf): GivenMembers {
  const inside = (source: Source, member: Member): readonly Source[] => {
    const given = source.get(member);
    const object = given && readObject(given);
    return object === undefined ? [] : [readSource(object, `${given!.pointer}/`, memberOf)];
  };
  const outer = readSource(row, '/', memberOf);
  const inner = inside(outer, 'subscription').flatMap((source) => [source, ...inside(source, 'keys')]);
  const sources = [outer, ...inside(outer, 'keys'), ...inner];
  return {
    ofSubscription: (member) => sources.findLast((source) => source.has(member))?.get(member),
    ofRow: (member) => sources.find((source) => source.has(member))?.get(member),
  };
}

/** The names in a row and in the objects in it, for an error: never a value. */
export function describeNames(row: Row): string {
  const names = Object.entries(row).map(([name, value]) =>
    isJsonObject(value) && isPlainName(name) ? `${name} (with ${listNames(Object.keys(value))})` : name,
  );
  return listNames(names, (name) => isPlainName(name.replace(/ \(with .*\)$/, '')));
}

function readSource(object: Row, prefix: string, memberOf: MemberOf): Source {
  const members = new Map<Member | keyof ColumnNames, GivenMember>();
  for (const [name, wrapped] of Object.entries(object)) {
    const member = memberOf(name);
    const value = unwrap(wrapped);
    if (member === undefined || value === null || value === '' || members.has(member)) continue;
    members.set(member, { value, pointer: prefix + name.replaceAll('~', '~0').replaceAll('/', '~1') });
  }
  return members;
}

/** MongoDB exports {"$oid": "…"}, {"$date": {"$numberLong": "…"}}. */
function unwrap(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const [[name, inner] = ['', undefined], ...others] = Object.entries(value);
  return name.startsWith('$') && others.length === 0 ? unwrap(inner) : value;
}

function readObject({ value, pointer }: GivenMember): Row | undefined {
  if (isJsonObject(value)) return value;
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(value) as Row;
  } catch {
    // The parser's message would quote the text, and with it an endpoint or a key.
    const detail = 'The text begins as an object in JSON and is not well-formed.';
    const fault: FieldError = { pointer, code: 'ERR_FIELD_VALUE', detail };
    throw new DeskbellError('ERR_SUBSCRIPTION_INVALID', detail, { fields: [fault] });
  }
}
