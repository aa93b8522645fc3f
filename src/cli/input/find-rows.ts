// Finds the rows in a value of a file, in whatever shape programs export them, and recognises exports that cannot be imported.
import { typeOf } from '../../errors/check-options.ts';
import { fieldError } from '../../errors/deskbell-error.ts';
import { isJsonObject } from '../../protocol/json-object.ts';
import { hasSubscription, isPlainName, type MemberOf, normalizeName, open, type Row } from './members.ts';

const instead =
  "Put Deskbell's client on your pages: at each reader's next visit it subscribes the browser anew, without asking again (docs/moving.md)";

interface Provider {
  /** Why its exports cannot be imported: one sentence. */
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

/** @returns two sentences about a row of another service, without a full stop; undefined for others */
export function findProvider(row: Row): string | undefined {
  const names = new Set(Object.keys(row).map(normalizeName));
  const found = providers.find((provider) => provider.fits(names, row));
  return found && `${found.reason}. ${instead}`;
}

/** A row, or the name of something that is not a row of subscriptions. */
export type Found = { readonly row: Row } | { readonly leftOut: string };

/** Recognises other things that exports contain besides rows. The name is a value of the file. */
const namesOfOthers: readonly ((object: Row) => string | undefined)[] = [
  // Django's dumpdata: rows of other models
  ({ model, fields }) => (isJsonObject(fields) && typeof model === 'string' ? model : undefined),
  // phpMyAdmin: the header, databases, other tables
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

/** Adds inherited members that the row lacks. */
function withInherited(row: Row, around: Row, memberOf: MemberOf): Row {
  const said = Object.entries(row).filter(([, value]) => value !== null && value !== '');
  const own = new Set(said.map(([name]) => memberOf(name)));
  const missing = Object.entries(around).filter(([name]) => !own.has(memberOf(name)));
  return missing.length === 0 ? row : { ...row, ...Object.fromEntries(missing) };
}
