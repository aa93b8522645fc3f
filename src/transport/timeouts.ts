// How long the transport waits, and the fault where that was in vain.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** Where a caller does not say otherwise. */
export const defaultTimeouts = {
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 30_000,
  idleTimeoutMs: 60_000,
} as const;

/** How long `close` waits for what is in flight. */
export const defaultCloseGraceMs = 10_000;

/** What `setTimeout` takes; a longer time would end at once. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** @param verb such as `answer` */
export function timeoutError(host: string, verb: string, timeoutMs: number): DeskbellError {
  return new DeskbellError('ERR_TIMEOUT', `${host} did not ${verb} within ${timeoutMs / 1000} s.`);
}
