// Assembles a worker from message path, transport and store, in a thread of its own or in the caller's.
import { loadAccelerator } from '../../accelerator/load-accelerator.ts';
import { createEncryptBatch, type Encrypt } from '../../protocol/message-encryption.ts';
import type { Store } from '../../store/store.ts';
import { systemClock } from '../../transport/clock.ts';
import { Figures, type OnFigures } from '../reports/figures.ts';
import type { MessageLog } from '../reports/message-log.ts';
import { openMessagePath } from '../message-path/message-path.ts';
import { RateLimits } from '../limits/rate-limits.ts';
import { defaultRetryPolicy } from '../settings/retry-policy.ts';
import { PayloadSource } from './row-payloads.ts';
import type { DeliverySettings } from '../settings/settings.ts';
import { defaultWorkerSettings } from '../settings/worker-settings.ts';
import { waitForDiskSpace } from './wait-for-disk-space.ts';
import { runWorker } from './worker.ts';

const reportEveryMs = 1000;

export interface WorkerOptions {
  /** Works only on this broadcast, and ends with it. */
  readonly broadcastId?: number | undefined;
  readonly encrypt?: Encrypt | undefined;
  /** Called with the reason why the accelerator is not used, if the broadcast is large enough to matter. */
  readonly onWarning: (warning: string) => void;
  readonly onFigures?: OnFigures | undefined;
  readonly messageLog?: MessageLog | undefined;
}

export interface DeliveryWorker {
  /** Works until the broadcast is over or paused, or until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION */
export function createWorker(
  settings: DeliverySettings,
  store: Store,
  { broadcastId, encrypt, onWarning, onFigures, messageLog }: WorkerOptions,
): DeliveryWorker {
  const { now } = store;
  const { random = Math.random } = settings.transport;
  const { monotonicNow, startTimer } = { ...systemClock, ...settings.transport };
  const { encryptBatch, reason } = encrypt
    ? { encryptBatch: createEncryptBatch(encrypt) }
    : loadAccelerator({ fastest: settings.encryption });
  const workerSettings = { ...defaultWorkerSettings, ...settings.worker };
  const path = openMessagePath(settings, store, encryptBatch, onWarning);

  const figures = onFigures && new Figures();
  const report = (): void => {
    const taken = figures?.take();
    if (taken !== undefined) onFigures?.(taken);
  };

  return {
    async run(signal) {
      const { leases, ledger, rates } = waitForDiskSpace(store, {
        clock: { startTimer },
        now,
        onWarning,
        signal,
      });
      const reporting = figures && setInterval(report, reportEveryMs).unref();
      const endReport = path.startReport('worker');
      try {
        await runWorker(
          {
            figures,
            messageLog,
            leases,
            ledger,
            rates: new RateLimits(settings.maxRates ?? new Map(), rates),
            path,
            record: { retryPolicy: { ...defaultRetryPolicy, ...settings.retryPolicy }, now, random },
            settings: workerSettings,
            clock: { monotonicNow, startTimer },
            broadcastId,
            payloads: new PayloadSource(store, settings.receiptKey),
            onSlice: ({ id, recipients, receipts }) => {
              if (receipts && !settings.receiptKey)
                onWarning(`Broadcast ${id} asks for receipts, but this sender has no receiptKey.`);
              if (reason !== undefined && recipients >= workerSettings.warnFromAudience) onWarning(reason);
            },
          },
          signal,
        );
      } finally {
        clearInterval(reporting);
        report();
        await endReport?.();
      }
    },
    close: () => path.close(0),
  };
}
