// A thread that delivers: it opens the store and connections of its own and runs one worker. Its parent posts `stop`
// to end it; it posts what it has to remark, its fault, if there is one, and exits.
import { parentPort, workerData } from 'node:worker_threads';
import { loadAccelerator } from '../accelerator/load-accelerator.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Store, StoreAddress } from '../store/store.ts';
import { createTransport } from '../transport/create-transport.ts';
import { createRequests, type DeliverySettings } from './delivery-settings.ts';
import { runWorker } from './worker.ts';

export interface WorkerThreadData {
  readonly storeAddress: StoreAddress;
  readonly settings: DeliverySettings;
  readonly broadcastId?: number;
}

/** What a thread tells its parent. An error itself would lose its class and code on the way. */
export type Posted =
  | { readonly kind: 'remark'; readonly text: string }
  | { readonly kind: 'fault'; readonly code?: string; readonly message: string };

const { storeAddress, settings, broadcastId } = workerData as WorkerThreadData;
const stop = new AbortController();
parentPort?.once('message', () => stop.abort());

try {
  const { openStore } = (await import(storeAddress.moduleUrl)) as {
    openStore(options: unknown): Promise<Store>;
  };
  const store = await openStore(storeAddress.options);
  const accelerator = loadAccelerator();
  if (accelerator.reason !== undefined) post({ kind: 'remark', text: accelerator.reason });
  const requests = createRequests(settings, accelerator.encrypt);
  const transport = createTransport(settings.transport);
  try {
    const { retryPolicy, leaseMs } = settings;
    await runWorker(
      {
        work: store.work,
        ledger: store.ledger,
        transport,
        requests,
        ...(broadcastId !== undefined && { broadcastId }),
        ...(retryPolicy !== undefined && { retryPolicy }),
        ...(leaseMs !== undefined && { leaseMs }),
      },
      stop.signal,
    );
  } finally {
    await transport.close(0);
    await store.close();
  }
} catch (error) {
  post(toPosted(error));
} finally {
  parentPort?.close();
}

function post(message: Posted): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
  parentPort?.postMessage(message);
}

function toPosted(error: unknown): Posted {
  if (error instanceof DeskbellError) return { kind: 'fault', code: error.code, message: error.message };
  return { kind: 'fault', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
