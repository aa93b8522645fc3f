// How a connection to a push service fails, in words.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** @param what such as `closed the connection` */
export function connectionError(host: string, what: string, cause?: Error): DeskbellError {
  return new DeskbellError('ERR_CONNECTION', `${host} ${what}${codeOf(cause)}.`, { cause });
}

/** ` (ECONNRESET)`; empty where the system gave no code. */
export function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
}
