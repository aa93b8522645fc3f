// Validation by the very schemas that types and the description document are made from. Nothing is coerced, and wrong
// fields are named by their JSON Pointers (RFC 6901): all of them where a value is as short as what people write, else the
// first one, so that what is wrong takes no longer than what is right.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { maxFields } from './problem.ts';
import type { Schema } from './schema.ts';

import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';

/** Pattern of text without lone surrogates (UTF-8 has none: RFC 3629 §3). */
export const wellFormed = String.raw`^\P{Cs}*$`;

// Formats are for readers of the description document; what they mean is checked where the value is read.
const options = { validateFormats: false, strict: false } as const;
const ajv = new Ajv(options);
/** For parts of a URL, which are text: `"7"` is a number there. */
const convertingAjv = new Ajv({ ...options, coerceTypes: true });
/** Each with the one that finds all errors. */
const thorough = new Map([
  [ajv, new Ajv({ ...options, allErrors: true })],
  [convertingAjv, new Ajv({ ...options, coerceTypes: true, allErrors: true })],
]);

/** Members and items of a value of which every wrong one is named. */
const maxThoroughValues = 100;

export const compileValidator: FastifySchemaCompiler<Schema> = ({ schema }) => validateWith(ajv, schema);

/** The same, but numbers in the path and the query are read as such. */
export const compileConvertingValidator: FastifySchemaCompiler<Schema> = ({ schema, httpPart }) =>
  validateWith(httpPart === 'body' ? ajv : convertingAjv, schema);

function validateWith(
  compiler: Ajv,
  schema: Schema,
): (value: unknown) => { value: unknown } | { error: Error } {
  const check = compiler.compile(schema);
  const findAll = (): ValidateFunction => thorough.get(compiler)!.compile(schema);
  return (value) => {
    if (check(value)) return { value };
    const { errors } = isShort(value) ? failed(findAll(), value) : check;
    const fields = (errors ?? []).slice(0, maxFields).map(toFieldError);
    const details = fields.map(({ detail }) => detail);
    const further = (errors ?? []).length - fields.length;
    if (further > 0) details.push(`And ${further} more.`);
    return { error: new DeskbellError('ERR_REQUEST_INVALID', details.join(' '), { fields }) };
  };
}

function failed(check: ValidateFunction, value: unknown): ValidateFunction {
  check(value);
  return check;
}

/** Looks no further than the limit. */
function isShort(value: unknown): boolean {
  const waiting = [value];
  for (let count = 0; count < waiting.length; count += 1) {
    if (waiting.length > maxThoroughValues) return false;
    const inner = waiting[count];
    if (typeof inner !== 'object' || inner === null) continue;
    if (Array.isArray(inner) && inner.length > maxThoroughValues) return false;
    for (const name in inner) {
      if (waiting.length > maxThoroughValues) return false;
      waiting.push((inner as Record<string, unknown>)[name]);
    }
  }
  return true;
}

function toFieldError({ keyword, instancePath, message, params }: ErrorObject): FieldError {
  const { missingProperty, additionalProperty, type, pattern } = params as Readonly<Record<string, string>>;
  const member = missingProperty ?? additionalProperty;
  const pointer = member === undefined ? instancePath : `${instancePath}/${member}`;
  const name = member ?? (instancePath === '' ? 'The body' : instancePath.slice(1));
  const field = (code: FieldError['code'], what: string | undefined): FieldError => {
    return { pointer, code, detail: `${name} ${what}.` };
  };
  if (keyword === 'required') return field('ERR_FIELD_MISSING', 'is missing');
  if (keyword === 'type') return field('ERR_FIELD_TYPE', `is not of type ${type}`);
  if (keyword === 'additionalProperties') return field('ERR_FIELD_VALUE', 'is not known here');
  if (keyword === 'minLength') return field('ERR_FIELD_VALUE', 'is empty');
  if (pattern !== wellFormed) return field('ERR_FIELD_VALUE', message);
  const surrogate = 'has a lone surrogate (U+D800 to U+DFFF); well-formed Unicode is needed';
  return field('ERR_FIELD_VALUE', surrogate);
}
