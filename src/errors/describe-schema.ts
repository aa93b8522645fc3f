// Describes what a JSON Schema allows, for errors of the API, library and command line such as "give true or false".
// Supports only the keywords that our schemas use.
import { formatCount } from './format-count.ts';
import { lookUp } from './check-options.ts';

export interface DescribedSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly DescribedSchema[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: DescribedSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

export interface Format {
  /** Called only with values of the schema's type. It may throw instead of returning false. */
  readonly fits: (value: never) => boolean;
  readonly words: string;
  /** A regular expression that approximates the format, for programs that do not know the format by name. */
  readonly pattern?: string;
}

export type Formats = Readonly<Record<string, Format>>;

export function describeSchema(schema: DescribedSchema, formats: Formats): string {
  const { type, format, anyOf } = schema;
  if (schema.enum !== undefined) return listWords(schema.enum.map(quote), 'or');
  if (anyOf !== undefined)
    return listWords(
      anyOf.map((part) => describeSchema(part, formats)),
      'or',
    );
  const types = [type ?? []].flat() as readonly string[];
  if (types.length > 1)
    return listWords(
      types.map((one) => describeSchema({ ...schema, type: one }, formats)),
      'or',
    );
  if (types[0] === 'null') return 'null';
  if (format !== undefined && Object.hasOwn(formats, format)) return lookUp(formats, format)!.words;
  return describeType(types[0], schema, formats);
}

function describeType(type: string | undefined, schema: DescribedSchema, formats: Formats): string {
  const { minLength, maxLength, minimum, maximum, items, minItems, maxItems } = schema;
  switch (type) {
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${range(minimum, maximum)}`;
    case 'number':
      return `a number${range(minimum, maximum)}`;
    case 'array': {
      const size = describeSize(minItems, maxItems);
      const each = items === undefined ? 'values' : `items, each ${describeSchema(items, formats)}`;
      return `an array of ${size === '' ? '' : `${size} `}${each}`;
    }
    case 'object':
      return describeObject(schema);
    case 'string':
      if (minLength === 1 && maxLength === undefined) return 'a string that is not empty';
      if (minLength === undefined && maxLength === undefined) return 'a string';
      return `a string of ${describeSize(minLength, maxLength)} characters`;
    default:
      return 'a value that JSON can hold';
  }
}

function describeObject({
  required = [],
  properties = {},
  minProperties = 0,
  maxProperties,
}: DescribedSchema): string {
  if (maxProperties !== undefined) return `an object of at most ${formatCount(maxProperties)} members`;
  if (required.length > 0) return `an object with ${listWords(required, 'and')}`;
  const names = Object.keys(properties);
  if (minProperties === 0 || names.length === 0) return 'an object';
  return `an object with ${names.length === 1 ? '' : 'at least one of '}${listWords(names, 'and')}`;
}

function describeSize(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return min === undefined ? '' : `at least ${formatCount(min)}`;
  return min === undefined ? `at most ${formatCount(max)}` : `${formatCount(min)} to ${formatCount(max)}`;
}

const range = (min: number | undefined, max: number | undefined): string =>
  (min === undefined ? '' : ` from ${min}`) +
  (max === undefined || max === Number.MAX_SAFE_INTEGER ? '' : `${min === undefined ? ' up' : ''} to ${max}`);

const quote = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));

export const listWords = (words: readonly string[], last: 'and' | 'or'): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
