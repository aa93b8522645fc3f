// Runs workers on a store: in threads if there is much to do, otherwise in this one.
import type { Store } from '../../store/store.ts';
import type { GroupedOptions } from '../settings/sender-options.ts';
import { resolveThreadCount, threadsFor } from './thread-count.ts';
import { hasThreadFile, runWorkerThreads } from './worker-pool.ts';

export interface RunWorkersOptions extends GroupedOptions {
  readonly store: Store;
}

export interface WorkRange {
  /** Without it, every broadcast. */
  readonly broadcastId?: number | undefined;
  /** Number of rows to send to, if known. */
  readonly rows?: number | undefined;
}

export type RunWorkers = (range: WorkRange, signal: AbortSignal) => Promise<void>;

/** @throws {DeskbellError} ERR_CONFIGURATION for threads together with functions that they cannot be given */
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

/** All threads report the same. */
function onceEach(onWarning: (warning: string) => void): (warning: string) => void {
  const reported = new Set<string>();
  return (warning) => {
    if (reported.has(warning)) return;
    reported.add(warning);
    onWarning(warning);
  };
}
