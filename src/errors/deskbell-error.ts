// The one error class. Its code is stable. Secrets (keys, `auth`, payloads, whole endpoints, passwords in URLs) never
// appear in a message.
import { catalogue, type ErrorCode } from './catalogue.ts';
import { hidePasswords } from './untrusted-text.ts';

/** An error in one field of an input. `pointer` is a JSON Pointer (RFC 6901), or `''` for the whole value. */
export interface FieldError {
  readonly pointer: string;
  readonly code: ErrorCode;
  readonly detail: string;
}

export interface DeskbellErrorOptions extends ErrorOptions {
  readonly fields?: readonly FieldError[];
  /** What to do about the error. Default: the catalogue's remedy for the code. */
  readonly remedy?: string;
}

/** An error with a stable `code`. `catalogue` and docs/errors.md say what the code means. */
export class DeskbellError extends Error {
  override readonly name = 'DeskbellError';
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  readonly remedy: string;

  constructor(code: ErrorCode, message: string, given: DeskbellErrorOptions = {}) {
    const { fields = [], remedy = catalogue[code].remedy, ...options } = given;
    super(hidePasswords(message), options);
    this.code = code;
    this.fields = fields;
    this.remedy = remedy;
  }

  /** The same call may succeed later without being changed. */
  get isRetryable(): boolean {
    return catalogue[this.code].isRetryable;
  }
}

/** @param pointer to the field, a JSON Pointer (RFC 6901) @param detail what is wrong with it, in a sentence */
export const fieldError = (code: ErrorCode, pointer: string, detail: string): DeskbellError =>
  new DeskbellError(code, detail, { fields: [{ pointer, code, detail }] });

/** Escapes a member's name for a JSON Pointer (RFC 6901 §3). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The names in a JSON Pointer. */
export const splitPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
