// The one error class. Every fault that a caller may want to tell apart carries a stable code from the
// catalogue; nothing secret (keys, `auth`, payloads, whole endpoints, passwords in URLs) ever appears in a message.
import { catalogue, type ErrorCode } from './catalogue/catalogue.ts';
import { hidePasswords } from './hide-passwords.ts';

/** What is wrong with one field of an input. `pointer` is a JSON Pointer (RFC 6901), `''` for the whole value. */
export interface FieldError {
  readonly pointer: string;
  readonly code: ErrorCode;
  readonly detail: string;
}

export interface DeskbellErrorOptions extends ErrorOptions {
  readonly fields?: readonly FieldError[];
}

/** A fault with a stable `code`; what the code means is in `catalogue` and in docs/errors.md. */
export class DeskbellError extends Error {
  override readonly name = 'DeskbellError';
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];

  constructor(code: ErrorCode, message: string, { fields = [], ...options }: DeskbellErrorOptions = {}) {
    super(hidePasswords(message), options);
    this.code = code;
    this.fields = fields;
  }

  /** True where the same call may succeed later without being changed. */
  get isRetryable(): boolean {
    return catalogue[this.code].isRetryable;
  }
}
