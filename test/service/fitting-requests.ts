// Requests that fit the description document in every part. A schema says of a string's pattern and length all that
// there is to say, but for points on P-256, which its format names.
import { createECDH } from 'node:crypto';
import * as fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly const?: unknown;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly not?: object;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minProperties?: number;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

/** Members that a schema does not name: they must make no difference. */
const furtherMembers = ['keys', 'p256dh', 'auth', 'endpoint', 'expirationTime', '__proto__', 'x'];

/** Values of formats that no pattern describes, by their names. */
export type FormatValues = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** Values that a schema takes. */
export function valuesFitting(schema: JsonSchema, formats: FormatValues = {}): fc.Arbitrary<unknown> {
  const { type, anyOf, items, minItems = 0, maxItems = 100 } = schema;
  if (anyOf) return fc.oneof(...anyOf.map((part) => valuesFitting(part, formats)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (typeof type === 'object') {
    return fc.oneof(...type.map((one) => valuesFitting({ ...schema, type: one }, formats)));
  }
  const known = type === 'null' ? undefined : formats[schema.format ?? ''];
  if (known !== undefined) return known;
  switch (type) {
    case undefined:
      return fc.jsonValue({ maxDepth: 2 });
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'string':
      return stringsFitting(schema);
    case 'integer':
      return integersFitting(schema);
    case 'number':
      return fc.double({ noDefaultInfinity: true, noNaN: true });
    case 'array':
      return fc.array(valuesFitting(items ?? {}, formats), { minLength: minItems, maxLength: maxItems });
    case 'object':
      return objectsFitting(schema, formats);
    default:
      throw new Error(`No values are made for ${JSON.stringify(schema)}`);
  }
}

function integersFitting({ minimum, maximum }: JsonSchema): fc.Arbitrary<bigint | number> {
  if (minimum === undefined || maximum === undefined)
    return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  return fc.oneof(
    fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) }),
    fc.maxSafeInteger().filter((value) => value >= minimum && value <= maximum),
  );
}

function objectsFitting(schema: JsonSchema, formats: FormatValues): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], minProperties = 0, additionalProperties = true } = schema;
  const members = Object.entries(properties).filter(([, member]) => member.not === undefined);
  const own = fc
    .record(Object.fromEntries(members.map(([name, member]) => [name, valuesFitting(member, formats)])), {
      requiredKeys: [...required],
    })
    .filter((value) => Object.keys(value).length >= minProperties);
  if (!additionalProperties) return own;
  if (typeof additionalProperties === 'object') {
    const names = valuesFitting(schema.propertyNames ?? { type: 'string' }, formats) as fc.Arbitrary<string>;
    return fc.dictionary(names, valuesFitting(additionalProperties, formats), { maxKeys: 2 });
  }
  const free = furtherMembers.filter((name) => !Object.hasOwn(properties, name));
  const further = fc.dictionary(fc.constantFrom(...free), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 });
  return fc.tuple(further, own).map((parts) => Object.assign({}, ...parts) as unknown);
}

function stringsFitting(schema: JsonSchema): fc.Arbitrary<string> {
  const { pattern, format, minLength = 0, maxLength = 300 } = schema;
  if (format === 'p256-point') return points;
  const text =
    pattern === undefined || pattern.includes(String.raw`\P{`)
      ? fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 300) })
      : fc.stringMatching(new RegExp(withoutLookaheads(pattern), 'u'), { size: 'medium' });
  const validator = Compile(schema as TSchema);
  return text.filter((value) => value.isWellFormed() && validator.Check(value));
}

/** They only narrow what a pattern takes, which is then left to the filter. */
function withoutLookaheads(pattern: string): string {
  return pattern.replaceAll(/\(\?!(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g, '');
}

/** In each alphabet, padded or not. */
const points = fc.constantFrom('base64', 'base64url', 'padded base64url').map((encoding) => {
  const point = createECDH('prime256v1').generateKeys();
  if (encoding === 'padded base64url') return `${point.toString('base64url')}=`;
  return point.toString(encoding as 'base64' | 'base64url');
});
