// Validates requests with the routes' schemas. Bodies are not coerced. Errors identify invalid fields by JSON Pointers
// (RFC 6901). For a large value, only the first invalid field is reported, so that an invalid value takes no longer to
// check than a valid one.
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { lookUp, typeOf } from '../errors/check-options.ts';
import {
  type DescribedSchema,
  describeSchema,
  type Format,
  type Formats,
  listWords,
} from '../errors/describe-schema.ts';
import { DeskbellError, escapePointer, type FieldError, splitPointer } from '../errors/deskbell-error.ts';
import { countOf } from '../errors/format-count.ts';
import { cut, maxFields } from './problem.ts';
import type { Schema } from './schema.ts';

/** If a value has at most this many members and items, errors name all wrong fields. */
const maxThoroughValues = 100;

const parts: Readonly<Record<string, RequestPart>> = {
  body: { name: 'The body', isText: false },
  querystring: { name: 'The query', isText: true },
  params: { name: 'The path', isText: true },
};

/**
 * Makes a listener's validator compiler. It reads numbers in path and query as numbers.
 *
 * @param formats all formats that the listener's schemas name
 */
export function createValidatorCompiler(formats: Formats): FastifySchemaCompiler<Schema> {
  const options: Options = {
    strict: false,
    // an unknown keyword or format is a mistake in a schema
    strictSchema: true,
    verbose: true,
    // Ajv would compile the meta-schema at each start; a test checks our schemas against it instead
    meta: false,
    validateSchema: false,
    formats: Object.fromEntries(Object.entries(formats).map(([name, format]) => [name, toAjvFormat(format)])),
  };
  const createPair = (coerceTypes: boolean) => ({
    first: new Ajv({ ...options, coerceTypes }),
    all: new Ajv({ ...options, coerceTypes, allErrors: true }),
  });
  const bodies = createPair(false);
  const texts = createPair(true);
  return ({ schema, httpPart = 'body' }) => {
    const part = lookUp(parts, httpPart)!;
    const { first, all } = part.isText ? texts : bodies;
    let compiled: ValidateFunction | undefined;
    const findAll = (): ValidateFunction => all.compile(schema);
    return (value) => {
      // compiled at the first request, because most routes get no request for a long time
      const check = (compiled ??= first.compile(schema));
      if (check(value)) return { value };
      const { errors } = isShort(value) ? failed(findAll(), value) : check;
      const found = toFieldErrors(errors ?? [], part, formats);
      const fields = found.slice(0, maxFields);
      const details = fields.map(({ detail }) => detail);
      const further = found.length - fields.length;
      if (further > 0) details.push(`And ${further} more.`);
      return { error: new DeskbellError('ERR_REQUEST_INVALID', details.join(' '), { fields }) };
    };
  };
}

/** Ajv calls the returned function only with strings. */
const toAjvFormat =
  ({ fits }: Format) =>
  (value: string): boolean => {
    try {
      return fits(value as never);
    } catch {
      return false;
    }
  };

function failed(check: ValidateFunction, value: unknown): ValidateFunction {
  check(value);
  return check;
}

function isShort(value: unknown): boolean {
  const waiting = [value];
  for (let count = 0; count < waiting.length; count += 1) {
    if (waiting.length > maxThoroughValues) return false;
    const inner = waiting[count];
    if (typeof inner !== 'object' || inner === null) continue;
    if (Array.isArray(inner) && inner.length > maxThoroughValues) return false;
    for (const name in inner) {
      if (waiting.length > maxThoroughValues) return false;
      waiting.push(lookUp(inner as Record<string, unknown>, name));
    }
  }
  return true;
}

// Describes Ajv's errors in our own words: the field, its fault, and what to give instead. Only this file knows Ajv's
// keywords. Values are never shown, unless they are numbers.

interface RequestPart {
  readonly name: string;
  readonly isText: boolean;
}

interface Fault {
  readonly code?: FieldError['code'];
  readonly what: string;
  /** What to give instead. Default: what the schema allows. Empty if `what` already says enough. */
  readonly remedy?: string;
  readonly member?: string;
}

/** A member's name may be as long as the body. */
const maxNameCharacters = 100;

function toFieldErrors(
  errors: readonly ErrorObject[],
  part: RequestPart,
  formats: Formats,
): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  for (const error of reduceAlternatives(errors)) {
    const { instancePath, parentSchema, propertyName } = error;
    if (error.keyword === 'propertyNames') continue;
    const fault = findFault(error, part, formats);
    const {
      code = 'ERR_FIELD_VALUE',
      what,
      remedy = `; give ${describeSchema(parentSchema as DescribedSchema, formats)}`,
      member = propertyName,
    } = fault;
    const pointer = member === undefined ? instancePath : `${instancePath}/${escapePointer(member)}`;
    const name = cut(toName(pointer) || part.name, maxNameCharacters);
    const field = { pointer, code, detail: `${name} ${what}${remedy}.` };
    if (!byPointer.has(pointer)) byPointer.set(pointer, field);
  }
  return [...byPointer.values()];
}

function findFault(
  { keyword, params, data, parentSchema }: ErrorObject,
  part: RequestPart,
  formats: Formats,
): Fault {
  const { properties = {} } = parentSchema as DescribedSchema;
  switch (keyword) {
    case 'required': {
      const { missingProperty: member } = params as { readonly missingProperty: string };
      const schema = (lookUp(properties, member) ?? {}) as DescribedSchema;
      const remedy = `; give ${describeSchema(schema, formats)}`;
      return { code: 'ERR_FIELD_MISSING', what: 'is missing', remedy, member };
    }
    case 'additionalProperties': {
      const { additionalProperty: member } = params as { readonly additionalProperty: string };
      const names = Object.keys(properties);
      const remedy = `; there ${names.length === 1 ? 'is' : 'are'} ${listWords(names, 'and')}`;
      return { what: 'is unknown', remedy, member };
    }
    case 'type':
      return { code: 'ERR_FIELD_TYPE', what: describeType(data, part) };
    case 'anyOf':
      return { what: 'has none of the forms that are allowed' };
    case 'const':
    case 'enum':
      return { what: 'is not an allowed value' };
    case 'minLength':
    case 'maxLength':
      return { what: describeLength(Array.from(data as string).length, 'character') };
    case 'minItems':
    case 'maxItems':
      return { what: describeLength((data as readonly unknown[]).length, 'item') };
    case 'minProperties':
      return { what: 'is empty' };
    case 'maxProperties':
      return { what: describeLength(Object.keys(data as object).length, 'member') };
    case 'minimum':
    case 'maximum':
      return { what: `is ${data as number}` };
    case 'not':
      return { what: 'is not allowed here', remedy: '; leave it out' };
    case 'format': {
      const { format } = params as { readonly format: string };
      const words = explain(lookUp(formats, format)!, data);
      return words === undefined
        ? { what: 'is not usable' }
        : { what: `is not usable: ${words}`, remedy: '' };
    }
    default:
      return { what: 'is not usable' };
  }
}

function explain({ fits }: Format, value: unknown): string | undefined {
  try {
    fits(value as never);
  } catch (error) {
    if (error instanceof DeskbellError) return error.message.replace(/\.$/, '');
  }
  return undefined;
}

function describeType(value: unknown, { isText }: RequestPart): string {
  if (value === undefined) return 'is missing';
  return isText ? 'is not usable' : `is of type ${typeOf(value)}`;
}

/**
 * If a value matches no alternative of an `anyOf`, keeps only the errors of the alternative that was meant. If it is
 * unclear which alternative was meant, keeps a single error.
 */
function reduceAlternatives(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choice = errors.findLast(({ keyword }) => keyword === 'anyOf');
  if (choice === undefined) return errors;
  const isInside = ({ schemaPath, instancePath }: ErrorObject): boolean =>
    schemaPath.startsWith(`${choice.schemaPath}/`) && instancePath.startsWith(choice.instancePath);
  const meant = findMeant(choice.data, choice.schema as readonly DescribedSchema[]);
  const inside =
    meant === undefined
      ? [choice]
      : reduceAlternatives(
          errors.filter(
            (error) => isInside(error) && error.schemaPath.startsWith(`${choice.schemaPath}/${meant}/`),
          ),
        );
  const before = errors.slice(0, errors.indexOf(choice)).filter((error) => !isInside(error));
  const after = errors.slice(errors.indexOf(choice) + 1);
  return [...reduceAlternatives(before), ...inside, ...after];
}

/** Finds the alternative that shares the most members with the value, if exactly one does. */
function findMeant(value: unknown, alternatives: readonly DescribedSchema[]): number | undefined {
  if (typeOf(value) !== 'object') return undefined;
  const names = Object.keys(value as object);
  const [best, next] = alternatives
    .map(({ properties = {} }, index) => {
      return { index, count: names.filter((name) => Object.hasOwn(properties, name)).length };
    })
    .toSorted((one, other) => other.count - one.count);
  return best !== undefined && best.count > (next?.count ?? 0) ? best.index : undefined;
}

const describeLength = (count: number, unit: string): string =>
  count === 0 ? 'is empty' : `has ${countOf(count, unit)}`;

/** `/message/actions/0/url` → `message.actions[0].url` */
export const toName = (pointer: string): string =>
  splitPointer(pointer)
    .map((part, index) => (/^\d+$/.test(part) ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
