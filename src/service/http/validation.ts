// Validation by the very schemas that types and the description document are made from. Nothing is coerced, and every
// wrong field is named by its JSON Pointer (RFC 6901).
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';

/** Pattern of text without surrogates that stand alone (UTF-8 has none: RFC 3629 §3). */
export const wellFormed = String.raw`^\P{Cs}*$`;

export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const validator = Compile(schema);
  return (value: unknown) => {
    if (validator.Check(value)) return { value };
    const fields = validator.Errors(value).flatMap(toFieldErrors);
    const details = fields.map(({ detail }) => detail).join(' ');
    return { error: new DeskbellError('ERR_REQUEST_INVALID', details, { fields }) };
  };
};

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: object;
}

function toFieldErrors({ keyword, instancePath, message, params }: SchemaError): FieldError[] {
  if (keyword === 'required') {
    const { requiredProperties } = params as { requiredProperties: readonly string[] };
    return requiredProperties.map((name) => ({
      pointer: `${instancePath}/${name}`,
      code: 'ERR_FIELD_MISSING',
      detail: `${name} is missing.`,
    }));
  }
  const name = instancePath === '' ? 'The body' : instancePath.slice(1);
  if (keyword === 'type') {
    const { type } = params as { type: string };
    return [{ pointer: instancePath, code: 'ERR_FIELD_TYPE', detail: `${name} is not of type ${type}.` }];
  }
  const { pattern } = params as { pattern?: string };
  const what =
    keyword === 'minLength'
      ? 'is empty'
      : pattern === wellFormed
        ? 'has a surrogate that stands alone (U+D800 to U+DFFF); well-formed Unicode is needed'
        : message;
  return [{ pointer: instancePath, code: 'ERR_FIELD_VALUE', detail: `${name} ${what}.` }];
}
