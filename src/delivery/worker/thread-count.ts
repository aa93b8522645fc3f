// Decides how many threads deliver, from the options and the number of rows.
import { availableParallelism } from 'node:os';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/**
 * @param options sender options; functions cannot be passed to a thread
 * @returns the number of threads to start: by default one per core, or 0 if an option is a function
 * @throws {DeskbellError} ERR_CONFIGURATION if threads are requested and an option is a function
 */
export function resolveThreadCount(threads: number | undefined, options: object): number {
  const functions = Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'function' ? [name] : [],
  );
  if (threads === undefined) return functions.length === 0 ? availableParallelism() : 0;
  if (threads === 0 || functions.length === 0) return threads;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `Functions cannot be given to threads: leave ${functions.join(' and ')} out or set threads to 0.`,
  );
}

/** How many rows one thread delivers in the time that another thread takes to start. */
const rowsForThread = 2000;

/** @returns 0 if this thread alone can deliver the rows before another thread would have started */
export function threadsFor(rows: number, maxThreads: number): number {
  return Math.min(maxThreads, Math.floor(rows / rowsForThread));
}
