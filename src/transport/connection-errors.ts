// How a connection to a push service fails, in words.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** @param what such as `closed the connection` */
export function connectionError(host: string, what: string, cause?: Error): DeskbellError {
  return new DeskbellError('ERR_CONNECTION', `${host} ${what}${codeOf(cause)}.`, { cause });
}

/** ` (ECONNRESET)`; empty if the system gave no code. */
export function codeOf(cause: unknown): string {
  return Error.isError(cause) && 'code' in cause ? ` (${String(cause.code)})` : '';
}

/** ` (ECONNRESET)`; the message of an error without a code; empty if there is neither. */
export function reasonOf(cause: unknown): string {
  return codeOf(cause) || (Error.isError(cause) ? ` (${cause.message})` : '');
}

/**
 * Turns anything thrown into a fault of this side: a resolver, a hook or Node itself may throw anything, and that says nothing about a
 * message.
 */
export function toFault(host: string, thrown: unknown): DeskbellError {
  if (thrown instanceof DeskbellError) return thrown;
  // not its text: converting it may throw, too
  const words = Error.isError(thrown) ? reasonOf(thrown) : ` (${typeof thrown} was thrown, not an error)`;
  if (codeOf(thrown) !== '')
    return new DeskbellError('ERR_CONNECTION', `${host} cannot be reached${words}.`, { cause: thrown });
  return new DeskbellError('ERR_SENDER_FAULT', `Sending to ${host} failed on this side${words}.`, {
    cause: thrown,
  });
}
