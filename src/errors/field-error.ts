import type { ErrorCode } from './catalogue/catalogue.ts';
import { DeskbellError } from './deskbell-error.ts';

/**
 * @param pointer to the field, a JSON Pointer (RFC 6901)
 * @param detail what is wrong with it, in a sentence
 */
export const fieldError = (code: ErrorCode, pointer: string, detail: string): DeskbellError =>
  new DeskbellError(code, detail, { fields: [{ pointer, code, detail }] });
