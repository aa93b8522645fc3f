// Describes how a connection to a push service failed.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** @param what the end of the message, which follows the host, such as `closed the connection` */
export function connectionError(host: string, what: string, cause?: Error): DeskbellError {
  return new DeskbellError('ERR_CONNECTION', `${host} ${what}${codeOf(cause)}.`, { cause });
}

/** Returns the error's code in the form ` (ECONNRESET)`; empty if it has none. */
export function codeOf(cause: unknown): string {
  return Error.isError(cause) && 'code' in cause ? ` (${String(cause.code)})` : '';
}

/** Returns the error's code or else its message, in the form ` (ECONNRESET)`; empty if it has neither. */
export function reasonOf(cause: unknown): string {
  return codeOf(cause) || (Error.isError(cause) ? ` (${cause.message})` : '');
}

/**
 * Turns any thrown value into a local error. A resolver, a hook or Node itself may throw, and what they throw says
 * nothing about the message.
 */
export function toFault(host: string, thrown: unknown): DeskbellError {
  if (thrown instanceof DeskbellError) return thrown;
  // do not convert the thrown value to text: that may throw too
  const words = Error.isError(thrown) ? reasonOf(thrown) : ` (${typeof thrown} was thrown, not an error)`;
  if (codeOf(thrown) !== '')
    return new DeskbellError('ERR_CONNECTION', `${host} cannot be reached${words}.`, { cause: thrown });
  return new DeskbellError('ERR_SENDER_FAULT', `Sending to ${host} failed on this side${words}.`, {
    cause: thrown,
  });
}
