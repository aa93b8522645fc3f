// Puts a worker together: message path, transport, store. The same in a thread of its own and in the caller's.
import { loadAccelerator, type EncryptionMethod } from '../accelerator/load-accelerator.ts';
import { createEncryptBatch, type EncryptBatch } from '../protocol/encrypt-batch.ts';
import type { Encrypt } from '../protocol/encryption.ts';
import type { Store } from '../store/store.ts';
import { createTransport } from '../transport/create-transport.ts';
import { createMessagePath } from './message-path.ts';
import { defaultRetryPolicy } from './retry-policy.ts';
import { defaultWorkerSettings, type DeliverySettings } from './settings.ts';
import { runWorker } from './worker.ts';

export interface WorkerOptions {
  /** Works on this broadcast only, and ends with it. */
  readonly broadcastId?: number | undefined;
  /** Stands in for the accelerator or Node's builtins. */
  readonly encrypt?: Encrypt | undefined;
  /** Told in words why the accelerator is not used. */
  readonly onWarning: (warning: string) => void;
}

export interface DeliveryWorker {
  /** Works until the broadcast is over or paused, or until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION */
export function createWorker(
  settings: DeliverySettings,
  store: Store,
  { broadcastId, encrypt, onWarning }: WorkerOptions,
): DeliveryWorker {
  const { now = Date.now, random = Math.random } = settings.transport;
  const transport = createTransport(settings.transport);
  const encryptBatch = encrypt
    ? createEncryptBatch(encrypt)
    : chooseEncryption(settings.encryption, onWarning);
  const path = createMessagePath(settings, transport, encryptBatch);

  return {
    run: (signal) =>
      runWorker(
        {
          work: store.work,
          ledger: store.ledger,
          path,
          record: { retryPolicy: settings.retryPolicy ?? defaultRetryPolicy, now, random },
          settings: { ...defaultWorkerSettings, ...settings.worker },
          broadcastId,
        },
        signal,
      ),
    close: () => transport.close(0),
  };
}

function chooseEncryption(
  fastest: EncryptionMethod | undefined,
  onWarning: (warning: string) => void,
): EncryptBatch {
  const { encryptBatch, reason } = loadAccelerator({ fastest });
  if (reason !== undefined) onWarning(reason);
  return encryptBatch;
}
