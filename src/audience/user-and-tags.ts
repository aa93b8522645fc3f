// Checks the user and the tags of a subscription, which come from the application, and expressions that select by them.
import { DeskbellError, fieldError } from '../errors/deskbell-error.ts';
import { isPlainText } from '../errors/untrusted-text.ts';

/** The user and the tags of a subscription, chosen by the application. A subscription without a user is anonymous. */
export interface UserAndTags {
  /** 1 to 128 bytes. */
  readonly user?: string | undefined;
  /** At most 32, each at most 64 bytes, in any order. Default: none. */
  readonly tags?: readonly string[] | undefined;
}

/** Selects the subscriptions that match every given field. At least one field is required. */
export interface AudienceExpression {
  /** All devices of this person. */
  readonly user?: string | undefined;
  readonly tags?: TagExpression | undefined;
}

/** Selects subscriptions by their tags. `all`, `any` and `none` contain at most 32 tags each. */
export interface TagExpression {
  /** The subscription must have all of these tags. */
  readonly all?: readonly string[] | undefined;
  /** The subscription must have at least one of these tags. */
  readonly any?: readonly string[] | undefined;
  /** The subscription must have none of these tags. */
  readonly none?: readonly string[] | undefined;
}

export const maxUserBytes = 128;
/** The maximum number of tags in a subscription, and in each member of a `TagExpression`. */
export const maxTags = 32;
const maxTagBytes = 64;
/** A tag with more characters than this is too long even after normalization. */
const maxSpelledCharacters = 4 * maxTagBytes;
/** Larger than `maxTags`, since a tag may be given more than once. */
const maxGivenTags = 4 * maxTags;
/** Tags contain no commas, which separate tags in lists, and do not begin with a hyphen, as flags do. */
const tagPattern = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._:-]*$/u;
const partNames = ['all', 'any', 'none'] as const satisfies readonly (keyof TagExpression)[];

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` points into the value */
export function checkUserAndTags({ user, tags = [] }: UserAndTags): Required<UserAndTags> {
  return {
    user: user === undefined ? undefined : checkNewUser(user, '/user'),
    tags: checkTags(tags, '/tags'),
  };
}

/** @throws {DeskbellError} as `checkUserAndTags` does */
export function checkUser(user: unknown, pointer: string): string {
  if (typeof user !== 'string') throw fieldError('ERR_FIELD_TYPE', pointer, 'The user must be a string.');
  const bytes = Buffer.byteLength(user);
  if (bytes === 0 || bytes > maxUserBytes) {
    throw invalid(pointer, `The user has ${bytes} bytes; it must have 1 to ${maxUserBytes} bytes of UTF-8.`);
  }
  if (isPlainText(user)) return user;
  throw invalid(pointer, 'The user must be well-formed Unicode without control characters.');
}

/**
 * Checks a user that is about to be stored. Also refuses U+FFFD, which replaces characters that were lost in decoding.
 *
 * @throws {DeskbellError} as `checkUserAndTags` does
 */
export function checkNewUser(given: unknown, pointer: string): string {
  const user = checkUser(given, pointer);
  if (!user.includes('\ufffd')) return user;
  const detail =
    'The user has U+FFFD, which stands for a character that was lost when a text was decoded: several people would be one.';
  throw invalid(pointer, detail);
}

/** @returns the tags without duplicates, sorted by name. @throws {DeskbellError} as `checkUserAndTags` does */
export function checkTags(tags: unknown, pointer: string): readonly string[] {
  if (!Array.isArray(tags)) throw fieldError('ERR_FIELD_TYPE', pointer, 'Tags must be an array of strings.');
  if (tags.length > maxGivenTags) throw tooMany(tags.length, pointer);
  const unique = new Set(tags.map((tag, index) => checkName(tag, `${pointer}/${index}`, 'A tag')));
  if (unique.size <= maxTags) return [...unique].toSorted();
  throw tooMany(unique.size, pointer);
}

const invalid = (pointer: string, detail: string): DeskbellError =>
  fieldError('ERR_FIELD_VALUE', pointer, detail);

const tooMany = (count: number, pointer: string): DeskbellError =>
  invalid(pointer, `There are ${count} tags; at most ${maxTags} are allowed.`);

/**
 * Checks a tag, or a name with the same rules. Returns it in NFC, since some characters can be encoded in two ways.
 *
 * @param what names the value in the error message
 * @throws {DeskbellError} as `checkUserAndTags` does
 */
export function checkName(name: unknown, pointer: string, what: string): string {
  if (typeof name !== 'string') throw fieldError('ERR_FIELD_TYPE', pointer, `${what} must be a string.`);
  // Check the length first, since sorting combining marks takes quadratic time.
  const normalized = name.length > maxSpelledCharacters ? '' : name.normalize('NFC');
  if (tagPattern.test(normalized) && Buffer.byteLength(normalized) <= maxTagBytes) return normalized;
  throw invalid(
    pointer,
    `${what} must be 1 to ${maxTagBytes} bytes of letters, digits and ". _ : -", and begin with a letter or digit.`,
  );
}

export const meets = (
  row: { readonly user?: string | null | undefined; readonly tags: readonly string[] },
  { user, tags: { all = [], any = [], none = [] } = {} }: AudienceExpression,
): boolean =>
  (user === undefined || row.user === user) &&
  all.every((tag) => row.tags.includes(tag)) &&
  (any.length === 0 || any.some((tag) => row.tags.includes(tag))) &&
  !none.some((tag) => row.tags.includes(tag));

/**
 * Checks an expression and returns it in canonical form, so that equal expressions are equal as JSON.
 *
 * @throws {DeskbellError} as `checkUserAndTags` does
 */
export function checkExpression({ user, tags = {} }: AudienceExpression): AudienceExpression {
  if (typeof tags !== 'object' || Array.isArray(tags)) {
    throw fieldError('ERR_FIELD_TYPE', '/tags', `Tags must be an object with ${partNames.join(', ')}.`);
  }
  const unknown = Object.keys(tags).find((name) => !(partNames as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw invalid('/tags', `"${unknown}" is unknown; there are ${partNames.join(', ')}.`);
  }
  const parts = partNames.flatMap((name) => {
    const part = checkTags(tags[name] ?? [], `/tags/${name}`);
    return part.length === 0 ? [] : [[name, part] as const];
  });
  if (user === undefined && parts.length === 0) {
    throw invalid('', 'An audience needs a user or a tag.');
  }
  return {
    ...(user !== undefined && { user: checkUser(user, '/user') }),
    ...(parts.length > 0 && { tags: Object.fromEntries(parts) }),
  };
}

/**
 * @param count the number of tags that the stored subscription would have
 * @throws {DeskbellError} ERR_FIELD_VALUE if there are too many
 */
export function checkTagCount(subscriptionId: number, count: number): void {
  if (count <= maxTags) return;
  throw new DeskbellError(
    'ERR_FIELD_VALUE',
    `Subscription ${subscriptionId} would have ${count} tags; at most ${maxTags} are allowed.`,
  );
}
