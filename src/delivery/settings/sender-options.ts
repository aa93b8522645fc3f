// The options of a sender, and which part of it gets which.
import { guardCallback } from '../../errors/check-options.ts';
import type { Encrypt } from '../../protocol/message-encryption.ts';
import type { Store } from '../../store/store.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import type { OnFigures } from '../reports/figures.ts';
import type { GoneHook } from '../reports/gone-hook.ts';
import type { MessageLog } from '../reports/message-log.ts';
import { type DeliverySettings, parseMaxRates } from './settings.ts';

/** Of `createSender`: keys, store and threads, and how connections are made. */
export interface SenderOptions extends TransportOptions, Omit<DeliverySettings, 'transport' | 'maxRates'> {
  /** Stands in for the accelerator where that is built, and for the builtin way elsewhere. */
  readonly encrypt?: Encrypt;
  /** Where broadcasts stand. `send` needs none, but where there is one it deletes subscriptions that have ended. */
  readonly store?: Store | undefined;
  /**
   * Called for each subscription that has left the store because its push service called it gone, at least once, whichever
   * process deleted it. What it throws is a warning, and it is called again after a second. Needs a store.
   */
  readonly onGone?: GoneHook | undefined;
  /** Worker threads for large broadcasts, by default one per core; 0 delivers in this thread. */
  readonly threads?: number | undefined;
  /** Called with a sentence when something is worse than it could be: why Node's builtins encrypt a large broadcast (once), a store that fails. */
  readonly onWarning?: (warning: string) => void;
  /** Called about once a second with what each worker of broadcasts has measured since: for metrics. */
  readonly onFigures?: OnFigures | undefined;
  /** Gets each message, or those that were not accepted: broadcast, subscription, push service and outcome. */
  readonly messageLog?: MessageLog | undefined;
  /** How long `send` may take in all, from the call to its result (default: `connectTimeoutMs` + `responseTimeoutMs`). */
  readonly sendTimeoutMs?: number;
  /** Messages that push services get at most in broadcasts, such as `fcm.googleapis.com=500/s` (or `/min`, `/h`): from all
   *  senders on the store together, each of which is given the same. */
  readonly maxRate?: readonly string[] | undefined;
}

/** Wraps the callbacks that only report, so that sending continues when one of them throws. */
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

/** Options that `createSender` has checked and wrapped. */
export type GuardedOptions = ReturnType<typeof guardCallbacks>;

/** Takes options that were checked apart: `settings` goes to every worker, and the others stay with this process. */
export function groupSenderOptions(options: GuardedOptions) {
  const { encrypt, store, onGone, threads, onWarning, onFigures, messageLog, sendTimeoutMs, ...rest } =
    options;
  const { vapid, retryPolicy, encryption, receiptKey, maxRate = [], worker, ...transport } = rest;
  const shared = { vapid, retryPolicy, encryption, receiptKey, worker };
  const settings: DeliverySettings = { ...shared, transport, maxRates: parseMaxRates(maxRate) };
  return { settings, encrypt, store, onGone, threads, onWarning, onFigures, messageLog, sendTimeoutMs };
}

/** The options of a sender by whom they go to. */
export type GroupedOptions = ReturnType<typeof groupSenderOptions>;
