// Describes members of a message in a subset of JSON Schema, and checks values against it. Errors name the member and
// never show its value.
import type { ErrorCode } from '../../errors/catalogue.ts';
import { lookUp, typeOf } from '../../errors/check-options.ts';
import type { DescribedSchema, Formats } from '../../errors/describe-schema.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isPlainText, plainTextPattern } from '../../errors/untrusted-text.ts';
import { readLanguage } from '../language.ts';

/** A schema without a `type` allows any JSON value. Formats are `messageFormats` or the caller's own. */
export interface ValueSchema extends Omit<DescribedSchema, 'anyOf' | 'minItems' | 'minProperties'> {
  readonly type?: ValueType | readonly ValueType[];
  readonly enum?: readonly string[];
  readonly items?: ValueSchema;
  /** The allowed members, with their schemas. */
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  /**
   * For objects with arbitrary member names: `additionalProperties` describes the values, `propertyNames` the names.
   */
  readonly additionalProperties?: ValueSchema;
  readonly propertyNames?: ValueSchema;
}

export type ValueType = 'string' | 'boolean' | 'integer' | 'array' | 'object' | 'null';

/** RFC 3986 §4.2: the first segment of a relative path has no colon. */
const relativePattern = '[^:/?#]*(?:[/?#].*)?';
const relativeTo = 'absolute or relative to the page that subscribed';

export const messageFormats: Formats = {
  link: {
    fits: (value: string) => hasScheme(value, ['http:', 'https:']),
    words: `an http(s) URL, ${relativeTo}`,
    pattern: `^(?:[Hh][Tt][Tt][Pp][Ss]?:.+|${relativePattern})$`,
  },
  picture: {
    fits: (value: string) => hasScheme(value, ['http:', 'https:', 'data:']),
    words: `an http(s) or data URL, ${relativeTo}`,
    pattern: `^(?:(?:[Hh][Tt][Tt][Pp][Ss]?|[Dd][Aa][Tt][Aa]):.+|${relativePattern})$`,
  },
  language: {
    fits: (value: string) => readLanguage(value) !== undefined,
    words: 'a BCP 47 language tag, such as de or pt-BR',
    pattern: '^(?:[A-Za-z]{2,3}|[A-Za-z]{5,8})(?:-[A-Za-z0-9]{1,8})*$',
  },
  'action-name': {
    fits: isPlainText,
    words: 'a name of at least one character, none of them a control character',
    pattern: plainTextPattern,
  },
  timestamp: {
    fits: () => true,
    words: 'milliseconds since 1970, a whole number',
  },
};

export interface FoundFault {
  readonly path: string;
  readonly fault: string;
  readonly schema: ValueSchema;
  readonly cause?: unknown;
}

/**
 * Returns what is wrong with a value, or undefined if it fits. The result never shows the value.
 *
 * @param path the path of the value in the message, such as `actions[0].url`
 */
export function findFault(value: unknown, schema: ValueSchema, path: string): FoundFault | undefined {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => typeOf(value) === (type === 'integer' ? 'number' : type))) {
    return { path, fault: `of type ${typeOf(value)}`, schema };
  }
  try {
    if (!fits(value, schema)) return { path, fault: 'not usable', schema };
  } catch (cause) {
    return { path, fault: 'not usable', schema, cause };
  }
  if (Array.isArray(value) && schema.items !== undefined) {
    for (const [index, item] of value.entries()) {
      const found = findFault(item, schema.items, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
  }
  if (schema.additionalProperties !== undefined) return findEntryFault(value as object, schema, path);
  return schema.properties === undefined ? undefined : findMemberFault(value as object, schema, path);
}

function findEntryFault(
  map: object,
  { additionalProperties, propertyNames }: ValueSchema,
  path: string,
): FoundFault | undefined {
  for (const [name, member] of Object.entries(map)) {
    const memberPath = `${path}.${name}`;
    const wrongName = findFault(name, propertyNames ?? {}, memberPath);
    if (wrongName !== undefined) return { ...wrongName, fault: 'named by a text that is not usable' };
    const found = findFault(member, additionalProperties ?? {}, memberPath);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findMemberFault(value: object, schema: ValueSchema, path: string): FoundFault | undefined {
  const { properties = {}, required = [] } = schema;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of new Set([...required, ...Object.keys(members)])) {
    if (lookUp(members, name) === undefined && !required.includes(name)) continue;
    const memberPath = path === '' ? name : `${path}.${name}`;
    if (!Object.hasOwn(properties, name)) return { path: memberPath, fault: 'unknown', schema };
    const found = findFault(lookUp(members, name), lookUp(properties, name)!, memberPath);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Checks everything except the type and nested values. `JSON` and `Intl` may throw errors. */
function fits(value: unknown, schema: ValueSchema): boolean {
  const {
    type,
    minLength = 0,
    maxLength = Infinity,
    minimum = -Infinity,
    maximum = Infinity,
    maxItems = Infinity,
    maxProperties = Infinity,
    format,
  } = schema;
  if (type === undefined) return JSON.stringify(value) !== undefined;
  if (typeof value === 'string' && (value.length < minLength || value.length > maxLength)) return false;
  if (typeof value === 'string' && !(schema.enum?.includes(value) ?? true)) return false;
  if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= minimum && value <= maximum)) {
    return false;
  }
  if (Array.isArray(value) && value.length > maxItems) return false;
  if (type === 'object' && Object.keys(value as object).length > maxProperties) return false;
  return value === null || format === undefined || lookUp(messageFormats, format)!.fits(value as never);
}

/** True if the URL has one of the schemes. A relative URL counts as https, because its page is unknown here. */
function hasScheme(value: string, schemes: readonly string[]): boolean {
  const url = URL.parse(value, 'https://scope.invalid/');
  return url !== null && schemes.includes(url.protocol);
}

/**
 * @param member such as `texts.de.actions[0].url`
 * @param expected what the caller should give; follows the word "give" in the error
 */
export const messageError = (
  member: string,
  fault: string,
  expected: string,
  cause?: unknown,
): DeskbellError =>
  memberError(
    'ERR_MESSAGE_INVALID',
    member,
    `The member ${member} of the message is ${fault}; give ${expected}.`,
    cause,
  );

/**
 * @param member such as `texts.de.title`; becomes a JSON Pointer below `/message` in the error's `fields`
 * @param detail a sentence that says what is wrong
 */
export function memberError(code: ErrorCode, member: string, detail: string, cause?: unknown): DeskbellError {
  const pointer = ['/message', ...member.split(/[.[\]]+/).filter(Boolean)].join('/');
  return new DeskbellError(code, detail, {
    fields: [{ pointer, code, detail }],
    ...(cause !== undefined && { cause }),
  });
}
