// The sender for applications: single messages and broadcasts, with one configuration. `createSender` checks options.
// Transport, encryption and workers are loaded with the first message or broadcast, so importing the sender is cheap.
import { encryptionMethods } from '../accelerator/encryption-methods.ts';
import {
  checkOptions,
  isArrayOf,
  isCheckedElsewhere,
  isFunction,
  isNumber,
  isObject,
  isSecret,
  isText,
  isWholeNumber,
  mustBe,
  type OptionCheck,
  type OptionChecks,
  wrong,
} from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { receiptKeyBytes } from '../protocol/message/receipt-token.ts';
import { createVapidAuthorizer } from '../protocol/vapid.ts';
import { isStore } from '../store/store.ts';
import { readAddressSettings } from '../transport/address-settings.ts';
import { maxTimeoutMs, transportChecks } from '../transport/check-options.ts';
import { startGoneReports } from './reports/gone-hook.ts';
import { checkMessageLog } from './reports/message-log.ts';
import type { Sender } from './sender-interface.ts';
import { defaultRetryPolicy } from './settings/retry-policy.ts';
import { groupSenderOptions, type SenderOptions } from './settings/sender-options.ts';
import { defaultWorkerSettings, parseMaxRates, type SenderVapid } from './settings/settings.ts';

export type { SendResult } from './message-path/message-path.ts';
export type { Sender } from './sender-interface.ts';
export type { SendOptions } from './single/reader.ts';
export type { GivenReader } from './single/reader.ts';
export type { SenderOptions } from './settings/sender-options.ts';
export type { SenderVapid } from './settings/settings.ts';
export type { SubscriptionInput } from './message-path/subscription-input.ts';

/**
 * Creates a sender. The sender opens connections when it needs them, and keeps them open. One sender per process is
 * enough.
 *
 * @example
 * const { store, vapidKeys } = await openDataDirectory('deskbell-data');
 * const sender = createSender({ store, vapid: { ...vapidKeys, subject: 'mailto:you@example.org' } });
 * const { outcome } = await sender.send(subscription, { title: 'Hello', message: 'Backups are done' });
 * const run = await sender.broadcast('all', { title: 'Hello', message: 'Backups are done' });
 * const { counts } = await run.finished;
 * await sender.close();
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION
 */
export function createSender(options: SenderOptions): Sender {
  assertUsable(options);
  const grouped = groupSenderOptions(options);
  let closing: Promise<void> | undefined;

  /** A part of the sender that is loaded on first use. Creating broadcasts does not load the part for single messages. */
  const lazily = <Part>(load: () => Promise<Part>) => {
    let loaded: Promise<Part> | undefined;
    return {
      open(): Promise<Part> {
        if (closing === undefined) return (loaded ??= load());
        throw new DeskbellError('ERR_CLOSED', 'The sender is closed and sends nothing any more.');
      },
      /** Returns the part that `load` loads; `undefined` if the part was never used or could not be loaded. */
      opened: () => loaded?.catch(() => undefined),
    };
  };
  const single = lazily(async () =>
    (await import('./single/single-messages.ts')).openSingleMessages(grouped),
  );
  const broadcaster = lazily(async () => (await import('./broadcaster.ts')).openBroadcaster(grouped));
  const { store, onGone, onWarning } = grouped;
  // Reporting starts now, even if nothing is ever sent.
  const goneReports = store && onGone && startGoneReports(store.ended, onGone, onWarning);

  const close = async (): Promise<void> => {
    // parts that are still loading may already have work, so wait for them
    const [messages, broadcasts] = await Promise.all([single.opened(), broadcaster.opened()]);
    await Promise.all([messages?.close(), broadcasts?.close()]);
    await goneReports?.close();
  };

  return {
    send: async (...message) => (await single.open()).send(...message),
    sendPayload: async (...message) => (await single.open()).sendPayload(...message),
    broadcast: async (...message) => (await broadcaster.open()).broadcast(...message),
    createBroadcast: async (...message) => (await broadcaster.open()).createBroadcast(...message),
    createSchedule: async (...schedule) => (await broadcaster.open()).createSchedule(...schedule),
    resume: async (broadcastId) => (await broadcaster.open()).resume(broadcastId),
    work: async (signal, onFault) => (await broadcaster.open()).work(signal, onFault),
    close: () => (closing ??= close()),
  };
}

/** Checks the options now, because some errors would otherwise appear only later. */
function assertUsable(options: SenderOptions): void {
  checkSenderOptions(options);
  readAddressSettings(options);
  const { subject, lifetimeSeconds, previousKeys = [] } = options.vapid;
  for (const keys of [options.vapid, ...previousKeys])
    createVapidAuthorizer({ keys, subject, lifetimeSeconds });
}

// Checks a sender's options when the sender is made. The transport checks its own options.

const vapidChecks: OptionChecks<SenderVapid> = {
  // `createVapidAuthorizer` checks the following members
  publicKey: isCheckedElsewhere,
  privateKey: isCheckedElsewhere,
  subject: isCheckedElsewhere,
  lifetimeSeconds: isCheckedElsewhere,
  previousKeys: isArrayOf('key pairs', isObject),
  keyDirectory: isText,
};

const isPositive = isNumber(1, Number.MAX_SAFE_INTEGER);

/** Checks that an option is an object with only names from `defaults`, and positive numbers as values. */
function isPartOf(defaults: object): OptionCheck {
  const checks = Object.fromEntries(Object.keys(defaults).map((name) => [name, isPositive]));
  // every member that is present must have a value
  return (value, name) => checkOptions(value, checks, { name, required: Object.keys(Object(value)) });
}

const senderChecks: OptionChecks<SenderOptions> = {
  vapid: (value, name) => checkOptions(value, vapidChecks, { name }),
  store: isStore,
  ...transportChecks,
  encrypt: isFunction,
  encryption: mustBe(`one of ${encryptionMethods.join(', ')}`, (value) =>
    (encryptionMethods as readonly unknown[]).includes(value),
  ),
  onGone: isFunction,
  receiptKey: isSecret(receiptKeyBytes),
  threads: isWholeNumber(0, 1024),
  onWarning: isFunction,
  onFigures: isFunction,
  messageLog: checkMessageLog,
  sendTimeoutMs: isNumber(1, maxTimeoutMs),
  maxRate(value, name) {
    const isList = Array.isArray(value) && value.every((limit) => typeof limit === 'string');
    if (!isList) throw wrong(name, 'must be an array of limits, such as ["fcm.googleapis.com=500/s"]');
    parseMaxRates(value);
  },
  retryPolicy: isPartOf(defaultRetryPolicy),
  worker: isPartOf(defaultWorkerSettings),
};

/** @throws {DeskbellError} ERR_CONFIGURATION, saying which option is wrong, why, and what to give instead */
function checkSenderOptions(options: SenderOptions): void {
  checkOptions(options, senderChecks, { required: ['vapid'] });
  if (options.onGone !== undefined && options.store === undefined) {
    throw wrong('onGone', 'needs a store: it is called for subscriptions that are deleted from it');
  }
}
