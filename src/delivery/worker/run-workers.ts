// Runs workers on a store: in threads if there is much to do, otherwise in this thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../store/store.ts';
import type { GroupedOptions } from '../settings/sender-options.ts';
import { resolveThreadCount, threadsFor } from './thread-count.ts';
import { hasThreadFile, runWorkerThreads } from './worker-pool.ts';

export interface RunWorkersOptions extends GroupedOptions {
  readonly store: Store;
}

export interface WorkRange {
  /** Default: every broadcast. */
  readonly broadcastId?: number | undefined;
  /** Number of rows to send, if known. */
  readonly rows?: number | undefined;
}

export type RunWorkers = (range: WorkRange, signal: AbortSignal) => Promise<void>;

/** @throws {DeskbellError} ERR_CONFIGURATION if there are threads, and functions that cannot be passed to them */
export function createRunWorkers({
  store,
  threads,
  encrypt,
  onWarning,
  onFigures,
  messageLog,
  settings,
}: RunWorkersOptions): RunWorkers {
  const maxThreads = resolveThreadCount(threads, { ...settings.transport, encrypt });
  const warnOnce = onceEach(onWarning);

  const runHere = async (broadcastId: number | undefined, signal: AbortSignal): Promise<void> => {
    const { createWorker } = await import('./create-worker.ts');
    const worker = createWorker(settings, store, {
      broadcastId,
      encrypt,
      onWarning: warnOnce,
      onFigures,
      messageLog,
    });
    try {
      await worker.run(signal);
    } finally {
      await worker.close();
    }
  };

  return async ({ broadcastId, rows = Number.POSITIVE_INFINITY }, signal) => {
    const count = threadsFor(rows, maxThreads);
    if (count === 0) return runHere(broadcastId, signal);
    if (!hasThreadFile()) {
      warnOnce(threadFileMissing);
      return runHere(broadcastId, signal);
    }
    const measures = onFigures !== undefined;
    const data = { storeAddress: store.address, settings, broadcastId, measures, logs: messageLog?.of };
    return runWorkerThreads(count, data, signal, { onWarning: warnOnce, onFigures, messageLog });
  };
}

const threadFileMissing =
  'Messages are sent in the main thread and encrypted with Node\'s builtins, since the files of "deskbell" are not beside its ' +
  'code, as in a bundle: declare "deskbell" external (docs/sending.md#in-bundles-and-frameworks).';

/** Reports equal warnings of several threads once. */
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
  /** Called with each fault. */
  readonly onFault: (fault: unknown) => void;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  readonly wait?: (ms: number) => Promise<void>;
}

/**
 * Restarts the work whenever it ends, until `stopped` is aborted. After a fault it waits for a second, then twice as
 * long each time, up to a minute. Once the work has lasted a minute, the wait is a second again.
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
