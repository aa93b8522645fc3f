// The options of a sender, and which of its components gets which option.
import { availableParallelism } from 'node:os';
import { guardCallback } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Encrypt } from '../../protocol/message-encryption.ts';
import type { Store } from '../../store/store.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import type { OnFigures } from '../reports/figures.ts';
import type { GoneHook } from '../reports/gone-hook.ts';
import type { MessageLog, MessageRecord } from '../reports/message-log.ts';
import { type DeliverySettings, parseMaxRates } from './settings.ts';

/** Options of `createSender`, for keys, store, threads and connections. */
export interface SenderOptions extends TransportOptions, Omit<DeliverySettings, 'transport' | 'maxRates'> {
  /** Replaces the built-in encryption (the accelerator or Node's crypto module). */
  readonly encrypt?: Encrypt;
  /**
   * Stores broadcasts. `send` works without a store. With a store, `send` also deletes subscriptions that have ended.
   */
  readonly store?: Store | undefined;
  /**
   * Called at least once for each subscription that any process deleted because the push service reported it as gone.
   * If the function throws, a warning is reported, and the function is called again after a second. Needs a store.
   */
  readonly onGone?: GoneHook | undefined;
  /** Number of worker threads for large broadcasts; 0 delivers in this thread. Default: one per core. */
  readonly threads?: number | undefined;
  /**
   * Called with a sentence that describes a problem: the store fails, or a large broadcast is encrypted without the
   * accelerator (reported once).
   */
  readonly onWarning?: (warning: string) => void;
  /** Called about once a second with the measurements of each broadcast worker, for metrics. */
  readonly onFigures?: OnFigures | undefined;
  /** Logs all messages, or only those that failed, with broadcast, subscription, push service and outcome. */
  readonly messageLog?: MessageLog | undefined;
  /** Time limit of `send`, from the call to its result. Default: `connectTimeoutMs` + `responseTimeoutMs`. */
  readonly sendTimeoutMs?: number;
  /**
   * Rate limits of push services for broadcasts, such as `fcm.googleapis.com=500/s` (or `/min`, `/h`). All senders on
   * the store share the limits, so every sender must get the same limits.
   */
  readonly maxRate?: readonly string[] | undefined;
}

/**
 * Separates `settings`, which every worker gets, from the options that stay in this process. Wraps callbacks that only
 * report, so that sending continues even if a callback throws.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION if threads are requested and an option is a function
 */
export function groupSenderOptions(options: SenderOptions) {
  const { encrypt, store, onGone, threads, onWarning, onFigures, messageLog, sendTimeoutMs, ...rest } =
    options;
  const { vapid, retryPolicy, encryption, receiptKey, maxRate = [], worker, ...transport } = rest;
  const shared = { vapid, retryPolicy, encryption, receiptKey, worker };
  const settings: DeliverySettings = { ...shared, transport, maxRates: parseMaxRates(maxRate) };
  return {
    settings,
    encrypt,
    store,
    onGone,
    maxThreads: store === undefined ? 0 : countThreads(threads, { ...transport, encrypt }),
    onWarning: guardCallback('onWarning', (warning: string) => onWarning?.(warning)),
    onFigures: onFigures && guardCallback('onFigures', onFigures),
    messageLog: messageLog && {
      of: messageLog.of,
      write: guardCallback('messageLog.write', (records: readonly MessageRecord[]) =>
        messageLog.write(records),
      ),
    },
    sendTimeoutMs,
  };
}

export type GroupedOptions = ReturnType<typeof groupSenderOptions>;

/**
 * @param options what threads would get; functions cannot be passed to a thread
 * @returns the maximum number of threads: by default one per core, or 0 if an option is a function
 * @throws {DeskbellError} ERR_CONFIGURATION if threads are requested and an option is a function
 */
export function countThreads(threads: number | undefined, options: object): number {
  const functions = Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'function' ? [name] : [],
  );
  if (threads === undefined) return functions.length === 0 ? availableParallelism() : 0;
  if (threads === 0 || functions.length === 0) return threads;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `Functions cannot be given to threads: leave ${functions.join(' and ')} out or set threads to 0.`,
  );
}
