// Runs workers in threads, one per core, so that a broadcast is not limited to one core and does not hold up the rest of this process.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { WorkerOptions } from './create-worker.ts';
import { startThread } from './thread-heap.ts';
import type { ThreadReport, WorkerThreadData } from './worker-thread.ts';

const threadFile = fileURLToPath(new URL('./worker-thread.ts', import.meta.url));

/** Whether the file for threads exists. A bundle of an application contains it only if told to. */
export const hasThreadFile = (): boolean => existsSync(threadFile);

export type ThreadListener = Pick<WorkerOptions, 'onWarning' | 'onFigures' | 'messageLog'>;

/**
 * Runs `threads` workers until all have ended; when one fails, the others are stopped.
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
  // Threads that start together slow each other down, and the first message would go out later.
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
