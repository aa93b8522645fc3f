// Named schemas appear once in the document, in `components/schemas`. Our own formats get their patterns.
import { lookUp } from '../../errors/look-up.ts';
import type { Formats } from '../../errors/describe-schema.ts';
import { modelOf, type Schema } from '../schema.ts';

export interface ModelNames<Value> {
  readonly value: Value;
  readonly schemas: Readonly<Record<string, object>>;
}

/** @throws {Error} two different schemas have one name */
export function nameModels<Value extends object>(value: Value, formats: Formats): ModelNames<Value> {
  const schemas = new Map<string, object>();

  const replace = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(replace);
    const members = Object.entries(part).map(([name, member]) => [name, replace(member)]);
    const copy = withPattern(Object.fromEntries(members) as Schema, formats);
    const name = modelOf(part);
    if (name === undefined) return copy;
    const known = schemas.get(name) ?? copy;
    if (JSON.stringify(known) !== JSON.stringify(copy)) throw new Error(`Two schemas are named ${name}.`);
    schemas.set(name, known);
    return { $ref: `#/components/schemas/${name}` };
  };

  const replaced = replace(value) as Value;
  return {
    value: replaced,
    schemas: Object.fromEntries([...schemas].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

function withPattern(schema: Schema, formats: Formats): Schema {
  const { format, pattern: own } = schema;
  const pattern = typeof format === 'string' && lookUp(formats, format)?.pattern;
  return pattern && own === undefined ? { ...schema, pattern } : schema;
}
