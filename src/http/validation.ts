// Validates requests with the routes' schemas. Bodies are not coerced. Wrong fields are named by JSON Pointers (RFC
// 6901): all of them in short values, such as people write, otherwise only the first, so that a wrong value takes no
// longer than a right one.
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { maxFields } from './problem.ts';
import type { Schema } from './schema.ts';

import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Format, Formats } from '../errors/describe-schema.ts';
import { toFieldErrors, type RequestPart } from './schema-errors.ts';
import { lookUp } from '../errors/look-up.ts';

/** Most members and items of a value of which every wrong one is named. */
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
    const check = first.compile(schema);
    const findAll = (): ValidateFunction => all.compile(schema);
    return (value) => {
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

/** Called only for texts. */
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
