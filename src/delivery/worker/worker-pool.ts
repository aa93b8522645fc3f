// Sets the heap of a delivery thread. V8's heap flags, which people set in NODE_OPTIONS for the whole process, override the
// limits of a thread. With `--max-semi-space-size=32`, its young generation is larger than its old one may grow, so V8
// constantly marks the old one, and a message takes twice as much CPU time. With `--max-old-space-size`, garbage piles up.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { type WorkerOptions as ThreadOptions, Worker } from 'node:worker_threads';
import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { WorkerOptions } from './create-worker.ts';
import type { ThreadReport, WorkerThreadData } from './worker-thread.ts';

// a worker uses about 25 MB; without a limit, V8 lets garbage grow to many times that
const resourceLimits = { maxYoungGenerationSizeMb: 18, maxOldGenerationSizeMb: 64 };

/**
 * A row lives for about 30 ms. While a thread warms up, that is longer than the young generation lasts, so V8
 * concludes that rows live long. Collecting them in the old generation then costs 3 % in all.
 */
const pretenuringFlag = '--no-allocation-site-pretenuring';

const sizeFlags = ['max-semi-space-size', 'min-semi-space-size', 'max-old-space-size', 'max-heap-size'];

/** Number of threads that do not run yet. */
let starting = 0;

/** Starts a thread with the heap limits of a delivery thread, whatever flags this process was started with. */
export function startThread(file: string, options: ThreadOptions): Worker {
  setFlagsFromString(pretenuringFlag);
  // V8 reads the flags when the thread makes its heap; afterwards the process gets its own flags back
  if (starting === 0) for (const flag of sizeFlags) setFlagsFromString(`--${flag}=0`);
  starting += 1;
  const thread = new Worker(file, { ...options, resourceLimits });
  let isCounted = true;
  const onStarted = () => {
    if (!isCounted) return;
    isCounted = false;
    starting -= 1;
    if (starting === 0) for (const flag of sizeFlags) setFlagsFromString(`--${flag}=${sizeGiven(flag)}`);
  };
  // if its heap cannot be made, the thread exits without ever being online
  return thread.once('online', onStarted).once('exit', onStarted);
}

/** The flag that the process was started with, in MB; 0 is V8's default. */
function sizeGiven(flag: string): number {
  const given = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ').replaceAll('_', '-');
  // Node has turned this percentage into a number; the limit of this thread takes precedence
  const isShare = flag === 'max-old-space-size' && given.includes(`--${flag}-percentage`);
  if (isShare) return Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20);
  return Number([...given.matchAll(new RegExp(`--${flag}[= ](\\d+)`, 'g'))].at(-1)?.[1] ?? 0);
}

// Runs workers in threads, one per core, so that a broadcast can use all cores and does not block the rest of this process.

const threadFile = fileURLToPath(new URL('./worker-thread.ts', import.meta.url));

/** True if the file that threads run exists. A bundled application has it only if the bundler was configured to include it. */
export const hasThreadFile = (): boolean => existsSync(threadFile);

export type ThreadListener = Pick<WorkerOptions, 'onWarning' | 'onFigures' | 'messageLog'>;

/**
 * Runs `threads` workers until all have ended. If one fails, the others are stopped.
 *
 * @throws {DeskbellError} the first fault of a worker
 */
export async function runWorkerThreads(
  threads: number,
  data: WorkerThreadData,
  signal: AbortSignal,
  listener: ThreadListener,
): Promise<void> {
  const stop = new AbortController();
  const stopAll = AbortSignal.any([signal, stop.signal]);
  const run = async (onReady?: () => void): Promise<void> => {
    try {
      await runThread(data, stopAll, listener, onReady);
    } catch (error) {
      stop.abort();
      throw error;
    }
  };
  // Threads that start together slow each other down, which would delay the first message.
  const firstIsReady = Promise.withResolvers<void>();
  const first = run(firstIsReady.resolve);
  await Promise.race([firstIsReady.promise, first.catch(() => {})]);
  const others = stopAll.aborted ? [] : Array.from({ length: threads - 1 }, () => run());
  const ends = await Promise.allSettled([first, ...others]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

async function runThread(
  data: WorkerThreadData,
  signal: AbortSignal,
  listener: ThreadListener,
  onReady: (() => void) | undefined,
): Promise<void> {
  const thread = startThread(threadFile, { workerData: data, name: 'deskbell-delivery' });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
  const stop = () => thread.postMessage('stop');
  let fault: (ThreadReport & { kind: 'fault' }) | undefined;
  thread.on('message', (message: ThreadReport) => {
    if (message.kind === 'fault') fault = message;
    else if (message.kind === 'ready') onReady?.();
    else if (message.kind === 'figures') listener.onFigures?.(message.figures);
    else if (message.kind === 'messages') listener.messageLog?.write(message.records);
    else listener.onWarning(message.text);
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const [code] = await once(thread, 'exit');
    if (fault === undefined && code === 0) return;
    const { code: name, message } = fault ?? { message: `A delivery thread ended with code ${code}.` };
    throw new DeskbellError(isErrorCode(name) ? name : 'ERR_INTERNAL', message);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function isErrorCode(name: string | undefined): name is ErrorCode {
  return name !== undefined && Object.hasOwn(catalogue, name);
}
