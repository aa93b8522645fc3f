// A delivery thread: opens the store and runs one worker. The parent thread posts `stop` to end this thread. This
// thread posts a message when it is ready, posts its warnings and any error, and exits.
import { parentPort, workerData } from 'node:worker_threads';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { openStoreAt } from '../../store/open-store-at.ts';
import type { StoreAddress } from '../../store/store.ts';
import { work, type WorkerOptions } from './create-worker.ts';
import type { DeliveryFigures } from '../reports/figures.ts';
import type { MessageLog, MessageRecord } from '../reports/message-log.ts';
import type { DeliverySettings } from '../settings/settings.ts';

export interface WorkerThreadData {
  readonly storeAddress: StoreAddress;
  readonly settings: DeliverySettings;
  readonly broadcastId: number | undefined;
  readonly measures: boolean;
  readonly logs: MessageLog['of'] | undefined;
}

/** What a thread posts to its parent. An `Error` would lose its class and code when posted. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'figures'; readonly figures: DeliveryFigures }
  | { readonly kind: 'messages'; readonly records: readonly MessageRecord[] }
  | { readonly kind: 'fault'; readonly code?: string; readonly message: string };

const { storeAddress, settings, broadcastId, measures, logs } = workerData as WorkerThreadData;
const stop = new AbortController();
const onStop = (): void => stop.abort();
parentPort?.once('message', onStop);
void run();

async function run(): Promise<void> {
  try {
    await deliver();
  } catch (error) {
    post(toReport(error));
  } finally {
    // without a listener, the port does not keep the thread alive
    parentPort?.off('message', onStop);
  }
}

async function deliver(): Promise<void> {
  const store = await openStoreAt(storeAddress);
  const options: WorkerOptions = {
    broadcastId,
    onReady: () => post({ kind: 'ready' }),
    onWarning: (text) => post({ kind: 'warning', text }),
    onFigures: measures ? (figures) => post({ kind: 'figures', figures }) : undefined,
    messageLog: logs && { of: logs, write: (records) => post({ kind: 'messages', records }) },
  };
  try {
    await work(settings, store, options, stop.signal);
  } finally {
    await store.close();
  }
}

function post(message: ThreadReport): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the rule is for windows, not threads
  parentPort?.postMessage(message);
}

function toReport(error: unknown): ThreadReport {
  if (error instanceof DeskbellError) return { kind: 'fault', code: error.code, message: error.message };
  return { kind: 'fault', message: Error.isError(error) ? (error.stack ?? error.message) : String(error) };
}
