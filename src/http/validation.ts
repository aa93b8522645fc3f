// Validation by the very schemas that types and the description document are made from. Nothing is coerced, and every
// wrong field is named by its JSON Pointer (RFC 6901).
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import type { Schema } from './schema.ts';

import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';

/** Pattern of text without lone surrogates (UTF-8 has none: RFC 3629 §3). */
export const wellFormed = String.raw`^\P{Cs}*$`;

// Formats are for readers of the description document; what they mean is checked where the value is read.
const options = { allErrors: true, validateFormats: false, strict: false } as const;
const ajv = new Ajv(options);
/** For parts of a URL, which are text: `"7"` is a number there. */
const convertingAjv = new Ajv({ ...options, coerceTypes: true });

/** @returns tells whether a value fits, and in `errors` where it does not */
export const compileSchema = (schema: Schema): ValidateFunction => ajv.compile(schema);

export const compileValidator: FastifySchemaCompiler<Schema> = ({ schema }) =>
  validateWith(compileSchema(schema));

/** The same, but numbers in the path and the query are read as such. */
export const compileConvertingValidator: FastifySchemaCompiler<Schema> = ({ schema, httpPart }) =>
  validateWith(httpPart === 'body' ? compileSchema(schema) : convertingAjv.compile(schema));

function validateWith(check: ValidateFunction): (value: unknown) => { value: unknown } | { error: Error } {
  return (value) => {
    if (check(value)) return { value };
    const fields = (check.errors ?? []).map(toFieldError);
    const details = fields.map(({ detail }) => detail).join(' ');
    return { error: new DeskbellError('ERR_REQUEST_INVALID', details, { fields }) };
  };
}

function toFieldError({ keyword, instancePath, message, params }: ErrorObject): FieldError {
  if (keyword === 'required') {
    const { missingProperty } = params as { missingProperty: string };
    return {
      pointer: `${instancePath}/${missingProperty}`,
      code: 'ERR_FIELD_MISSING',
      detail: `${missingProperty} is missing.`,
    };
  }
  if (keyword === 'additionalProperties') {
    const { additionalProperty } = params as { additionalProperty: string };
    return {
      pointer: `${instancePath}/${additionalProperty}`,
      code: 'ERR_FIELD_VALUE',
      detail: `${additionalProperty} is not known here.`,
    };
  }
  const name = instancePath === '' ? 'The body' : instancePath.slice(1);
  if (keyword === 'type') {
    const { type } = params as { type: string };
    return { pointer: instancePath, code: 'ERR_FIELD_TYPE', detail: `${name} is not of type ${type}.` };
  }
  const { pattern } = params as { pattern?: string };
  const what =
    keyword === 'minLength'
      ? 'is empty'
      : pattern === wellFormed
        ? 'has a lone surrogate (U+D800 to U+DFFF); well-formed Unicode is needed'
        : message;
  return { pointer: instancePath, code: 'ERR_FIELD_VALUE', detail: `${name} ${what}.` };
}
