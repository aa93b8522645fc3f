// The options of a sender, and which part of it gets which.
import { guardCallback } from '../../errors/check-options.ts';
import type { Encrypt } from '../../protocol/message-encryption.ts';
import type { Store } from '../../store/store.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import type { OnFigures } from '../reports/figures.ts';
import type { GoneHook } from '../reports/gone-hook.ts';
import type { MessageLog } from '../reports/message-log.ts';
import { type DeliverySettings, parseMaxRates } from './settings.ts';

/** Options of `createSender`: keys, store, threads, and how connections are made. */
export interface SenderOptions extends TransportOptions, Omit<DeliverySettings, 'transport' | 'maxRates'> {
  /** Replaces the encryption by accelerator or Node's builtins. */
  readonly encrypt?: Encrypt;
  /** Where broadcasts are stored. `send` works without one; with one, it deletes subscriptions that have ended. */
  readonly store?: Store | undefined;
  /**
   * Called at least once for each subscription that was deleted because its push service reported it as gone, whichever process deleted it.
   * If it throws, that is a warning, and it is called again after a second. Needs a store.
   */
  readonly onGone?: GoneHook | undefined;
  /** Worker threads for large broadcasts, by default one per core; 0 delivers in this thread. */
  readonly threads?: number | undefined;
  /** Called with a sentence about a degraded state: why Node's builtins encrypt a large broadcast (once), a store that fails. */
  readonly onWarning?: (warning: string) => void;
  /** Called about once a second with the measurements of each broadcast worker: for metrics. */
  readonly onFigures?: OnFigures | undefined;
  /** Gets each message, or those that were not accepted: broadcast, subscription, push service and outcome. */
  readonly messageLog?: MessageLog | undefined;
  /** Time limit of `send`, from the call to its result (default: `connectTimeoutMs` + `responseTimeoutMs`). */
  readonly sendTimeoutMs?: number;
  /**
   * Limits on broadcast messages to push services, such as `fcm.googleapis.com=500/s` (or `/min`, `/h`), for all senders on the store
   * together; give each the same.
   */
  readonly maxRate?: readonly string[] | undefined;
}

/** Wraps callbacks that only report, so that sending continues if one throws. */
export function guardCallbacks(options: SenderOptions) {
  const { onWarning, onFigures, messageLog } = options;
  return {
    ...options,
    onWarning: guardCallback('onWarning', (warning) => onWarning?.(warning)),
    onFigures: onFigures && guardCallback('onFigures', onFigures),
    messageLog: messageLog && {
      of: messageLog.of,
      write: guardCallback('messageLog.write', (records) => messageLog.write(records)),
    },
  } satisfies SenderOptions;
}

export type GuardedOptions = ReturnType<typeof guardCallbacks>;

/** `settings` goes to every worker; the others stay in this process. */
export function groupSenderOptions(options: GuardedOptions) {
  const { encrypt, store, onGone, threads, onWarning, onFigures, messageLog, sendTimeoutMs, ...rest } =
    options;
  const { vapid, retryPolicy, encryption, receiptKey, maxRate = [], worker, ...transport } = rest;
  const shared = { vapid, retryPolicy, encryption, receiptKey, worker };
  const settings: DeliverySettings = { ...shared, transport, maxRates: parseMaxRates(maxRate) };
  return { settings, encrypt, store, onGone, threads, onWarning, onFigures, messageLog, sendTimeoutMs };
}

export type GroupedOptions = ReturnType<typeof groupSenderOptions>;
