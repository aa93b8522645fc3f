// Runs a worker, with its store, encryption and connections, in a thread of its own or in the caller's.
import { loadAccelerator } from '../../accelerator/load-accelerator.ts';
import { createEncryptBatch, type Encrypt } from '../../protocol/message-encryption.ts';
import { DiskFullError } from '../../store/database-content.ts';
import type { Store } from '../../store/store.ts';
import { type Clock, systemClock } from '../../transport/clock.ts';
import { RateLimits } from '../limits/rate-limits.ts';
import { openMessagePath } from '../message-path/message-path.ts';
import { Figures, type OnFigures } from '../reports/figures.ts';
import type { MessageLog } from '../reports/message-log.ts';
import { defaultRetryPolicy } from '../settings/retry-policy.ts';
import { defaultWorkerSettings, type DeliverySettings } from '../settings/settings.ts';
import { PayloadSource } from './row-payloads.ts';
import { Worker } from './worker.ts';

const reportEveryMs = 1000;

export interface WorkerOptions {
  /** If set, the worker works only on this broadcast and stops when it is over. */
  readonly broadcastId?: number | undefined;
  readonly encrypt?: Encrypt | undefined;
  /** Called with the reason if the accelerator is not used although the broadcast is large enough for it to matter. */
  readonly onWarning: (warning: string) => void;
  readonly onFigures?: OnFigures | undefined;
  readonly messageLog?: MessageLog | undefined;
  /** Called when everything is loaded. */
  readonly onReady?: () => void;
}

/**
 * Works until the broadcast is over or paused, or until `signal` is aborted.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION, or the store's errors
 */
export async function work(
  settings: DeliverySettings,
  store: Store,
  { broadcastId, encrypt, onWarning, onFigures, messageLog, onReady }: WorkerOptions,
  signal: AbortSignal,
): Promise<void> {
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

  const { leases, ledger, rates } = waitForDiskSpace(store, {
    clock: { startTimer },
    now,
    onWarning,
    signal,
  });
  const reporting = figures && setInterval(report, reportEveryMs).unref();
  const endReport = path.startReport('worker');
  onReady?.();
  try {
    await new Worker({
      figures,
      messageLog,
      leases,
      ledger,
      rates: new RateLimits(settings.maxRates, rates),
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
    }).run(signal);
  } finally {
    clearInterval(reporting);
    report();
    await endReport?.();
    await path.transport.close(0);
  }
}

// Wraps a store so that workers wait while its disk is full. A worker then takes no new work, and keeps its results
// until there is space to write them. A lease that has run out meanwhile goes to the worker that writes first. So that
// workers with results keep their leases, workers without results ask for work less often.

export const tryAgainAfterMs = 1000;
const leaseAgainAfterMs = 10_000;

export interface WaitOptions {
  readonly clock: Pick<Clock, 'startTimer'>;
  /** Returns milliseconds since 1970. */
  readonly now: () => number;
  /** Called once when the wait begins, and once when it ends. */
  readonly onWarning: (warning: string) => void;
  /** Ends the wait. The pending write then throws. */
  readonly signal: AbortSignal;
}

export function waitForDiskSpace(
  { leases, ledger, rates }: Pick<Store, 'leases' | 'ledger' | 'rates'>,
  { clock, now, onWarning, signal }: WaitOptions,
): Pick<Store, 'leases' | 'ledger' | 'rates'> {
  let isWaiting = false;

  const patiently =
    <Given extends unknown[], Result>(
      write: (...given: Given) => Promise<Result>,
      againAfterMs = tryAgainAfterMs,
    ) =>
    async (...given: Given): Promise<Result> => {
      for (;;) {
        try {
          const result = await write(...given);
          if (isWaiting)
            onWarning(`The disk of the database has free space again: sending continues (${minute(now())}).`);
          isWaiting = false;
          return result;
        } catch (error) {
          if (!(error instanceof DiskFullError) || signal.aborted) throw error;
          if (!isWaiting)
            onWarning(`The disk of the database is full: sending waits for free space (${minute(now())}).`);
          isWaiting = true;
        }
        await pause(clock, againAfterMs, signal);
      }
    };

  return {
    leases: {
      ...leases,
      leaseSlice: patiently(leases.leaseSlice, leaseAgainAfterMs),
      leaseRetries: patiently(leases.leaseRetries, leaseAgainAfterMs),
      renew: patiently(leases.renew),
      release: patiently(leases.release),
    },
    ledger: {
      ...ledger,
      commit: patiently(ledger.commit),
      recordAnswers: patiently(ledger.recordAnswers),
      readRows: patiently(ledger.readRows),
    },
    rates: { take: patiently(rates.take) },
  };
}

function pause({ startTimer }: Pick<Clock, 'startTimer'>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = startTimer(end, ms, true);
    signal.addEventListener('abort', end);
  });
}

/**
 * Formats the time to the minute. Threads usually notice a full disk within the same minute, so their warnings are
 * equal and only one is reported.
 */
const minute = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 16)}Z`;
