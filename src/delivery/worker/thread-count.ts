// How many threads deliver: what the options allow, and what is worthwhile for the number of rows.
import { availableParallelism } from 'node:os';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/**
 * @param options of a sender: functions among them cannot be given to a thread
 * @returns one per core where `threads` is not given; 0 means no further thread
 * @throws {DeskbellError} ERR_CONFIGURATION for threads together with functions
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

/** What one thread does faster than another starts. */
const rowsForThread = 2000;

/** @returns 0 if so few rows are delivered sooner without another thread */
export function threadsFor(rows: number, maxThreads: number): number {
  return Math.min(maxThreads, Math.floor(rows / rowsForThread));
}
