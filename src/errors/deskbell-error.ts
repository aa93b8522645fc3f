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
  /** What to do, as a sentence, where it is not what the catalogue says for the code. */
  readonly remedy?: string;
}

/** A fault with a stable `code`; what the code means is in `catalogue` and in docs/errors.md. */
export class DeskbellError extends Error {
  override readonly name = 'DeskbellError';
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  /** What to do. */
  readonly remedy: string;

  constructor(code: ErrorCode, message: string, given: DeskbellErrorOptions = {}) {
    const { fields = [], remedy = catalogue[code].remedy, ...options } = given;
    super(hidePasswords(message), options);
    this.code = code;
    this.fields = fields;
    this.remedy = remedy;
  }

  /** True where the same call may succeed later without being changed. */
  get isRetryable(): boolean {
    return catalogue[this.code].isRetryable;
  }
}
