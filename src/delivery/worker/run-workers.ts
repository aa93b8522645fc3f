// Runs workers on a store: in threads if there is much to do, otherwise in this thread.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { type WorkerOptions as ThreadOptions, Worker } from 'node:worker_threads';
import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Store } from '../../store/store.ts';
import type { GroupedOptions } from '../settings/sender-options.ts';
import type { WorkerOptions } from './create-worker.ts';
import type { ThreadReport, WorkerThreadData } from './worker-thread.ts';

/** @returns a function that delivers every broadcast, or only `broadcastId`. `rows` is the number of rows to send */
export function createRunWorkers({
  store,
  maxThreads,
  encrypt,
  onWarning,
  onFigures,
  messageLog,
  settings,
}: GroupedOptions & { readonly store: Store }) {
  const warnOnce = onceEach(onWarning);

  const runHere = async (broadcastId: number | undefined, signal: AbortSignal): Promise<void> => {
    const { work } = await import('./create-worker.ts');
    const options = { broadcastId, encrypt, onWarning: warnOnce, onFigures, messageLog };
    await work(settings, store, options, signal);
  };

  return async (
    signal: AbortSignal,
    broadcastId?: number,
    rows = Number.POSITIVE_INFINITY,
  ): Promise<void> => {
    const count = threadsFor(rows, maxThreads);
    if (count === 0) return runHere(broadcastId, signal);
    // a bundled application has the file only if its bundler is told to include it
    if (!existsSync(threadFile)) {
      warnOnce(threadFileMissing);
      return runHere(broadcastId, signal);
    }
    const measures = onFigures !== undefined;
    const data = { storeAddress: store.address, settings, broadcastId, measures, logs: messageLog?.of };
    return runWorkerThreads(count, data, signal, { onWarning: warnOnce, onFigures, messageLog });
  };
}

/** How many rows one thread delivers in the time that another thread takes to start. */
const rowsForThread = 2000;

/** @returns 0 if this thread alone can deliver the rows before another thread would have started */
export function threadsFor(rows: number, maxThreads: number): number {
  return Math.min(maxThreads, Math.floor(rows / rowsForThread));
}

const threadFileMissing =
  'Messages are sent in the main thread and encrypted with Node\'s builtins, since the files of "deskbell" are not beside its ' +
  'code, as in a bundle: declare "deskbell" external (docs/sending.md#in-bundles-and-frameworks).';

/** Reports a warning only once, even if several threads report it. */
function onceEach(onWarning: (warning: string) => void): (warning: string) => void {
  const reported = new Set<string>();
  return (warning) => {
    if (reported.has(warning)) return;
    reported.add(warning);
    onWarning(warning);
  };
}

// Restarts work after temporary faults, such as a full disk or an unavailable database. Work that was not committed
// is repeated.

const firstPauseMs = 1000;
const maxPauseMs = 60_000;

export interface RestartOptions {
  readonly stopped: AbortSignal;
  readonly onFault: (fault: unknown) => void;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  readonly wait?: (ms: number) => Promise<void>;
}

/**
 * Restarts the work whenever it ends, until `stopped` is aborted. Waits a second after a fault, and twice as long after
 * each further fault, up to a minute. Once the work has lasted a minute, the wait is a second again.
 */
export async function restartAfterFaults(
  work: () => Promise<void>,
  {
    stopped,
    onFault,
    nowMs = () => performance.now(),
    wait = (ms) => sleep(ms, undefined, { signal: stopped }).catch(() => {}),
  }: RestartOptions,
): Promise<void> {
  let pauseMs = firstPauseMs;
  while (!stopped.aborted) {
    const startedMs = nowMs();
    try {
      await work();
    } catch (fault) {
      onFault(fault);
      if (nowMs() - startedMs >= maxPauseMs) pauseMs = firstPauseMs;
      await wait(pauseMs);
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
  }
}

// Limits the heap of a delivery thread. V8's heap flags, which people set in NODE_OPTIONS for the whole process,
// override a thread's limits. With `--max-semi-space-size=32`, the young generation exceeds the limit of the old
// generation. V8 then constantly marks the old generation, and a message takes twice as much CPU time. With
// `--max-old-space-size`, garbage piles up.

// a worker uses about 25 MB; without a limit, V8 lets garbage grow to many times that
const resourceLimits = { maxYoungGenerationSizeMb: 18, maxOldGenerationSizeMb: 64 };

/**
 * A row lives for about 30 ms. While a thread warms up, rows outlive collections of the young generation, so V8
 * allocates later rows in the old generation. Collecting them there costs 3 % in total.
 */
const pretenuringFlag = '--no-allocation-site-pretenuring';

const sizeFlags = ['max-semi-space-size', 'min-semi-space-size', 'max-old-space-size', 'max-heap-size'];

/** Number of threads that are not running yet. */
let starting = 0;

/** Starts a thread with the heap limits of a delivery thread, whatever flags this process was started with. */
export function startThread(file: string, options: ThreadOptions): Worker {
  setFlagsFromString(pretenuringFlag);
  // V8 reads the flags when it creates the thread's heap; `onStarted` then restores the process's own flags
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
  // if V8 cannot create its heap, the thread exits without ever being online
  return thread.once('online', onStarted).once('exit', onStarted);
}

/** The value of the flag that the process was started with, in MB; 0 means V8's default. */
function sizeGiven(flag: string): number {
  const given = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ').replaceAll('_', '-');
  // Node has converted the percentage to a size, which is the heap limit of this thread
  const isShare = flag === 'max-old-space-size' && given.includes(`--${flag}-percentage`);
  if (isShare) return Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20);
  return Number([...given.matchAll(new RegExp(`--${flag}[= ](\\d+)`, 'g'))].at(-1)?.[1] ?? 0);
}

// Runs workers in threads, one per core, so that a broadcast can use all cores and does not block the rest of this
// process.

const threadFile = fileURLToPath(new URL('./worker-thread.ts', import.meta.url));

export type ThreadListener = Pick<WorkerOptions, 'onWarning' | 'onFigures' | 'messageLog'>;

/**
 * Runs `threads` workers until all have ended. If one fails, the others are stopped.
 *
 * @throws {DeskbellError} the first fault of a worker
 */
async function runWorkerThreads(
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
  // Threads that start together would slow each other down and delay the first message.
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
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the rule is for windows, not threads
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
