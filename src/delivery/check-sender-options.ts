// Checks the options of a sender, so that a wrong one fails when the sender is made. The transport checks its own.
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
  wrong,
  type OptionCheck,
  type OptionChecks,
} from '../errors/check-options.ts';
import { isStore } from '../store/store.ts';
import { receiptKeyBytes } from '../protocol/message/receipt-token.ts';
import { maxTimeoutMs, transportChecks } from '../transport/check-options.ts';
import { parseMaxRates, type SenderVapid } from './settings/settings.ts';
import { checkMessageLog } from './reports/message-log.ts';
import type { SenderOptions } from './settings/sender-options.ts';
import { defaultWorkerSettings } from './settings/worker-settings.ts';
import { defaultRetryPolicy } from './settings/retry-policy.ts';

const vapidChecks: OptionChecks<SenderVapid> = {
  // `createVapidAuthorizer` says what is wrong with these
  publicKey: isCheckedElsewhere,
  privateKey: isCheckedElsewhere,
  subject: isCheckedElsewhere,
  lifetimeSeconds: isCheckedElsewhere,
  previousKeys: isArrayOf('key pairs', isObject),
  keyDirectory: isText,
};

const isPositive = isNumber(1, Number.MAX_SAFE_INTEGER);

/** An object with some of the numbers of `defaults`. */
function isPartOf(defaults: object): OptionCheck {
  const checks = Object.fromEntries(Object.keys(defaults).map((name) => [name, isPositive]));
  // every member that is given must have a value
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

/** @throws {DeskbellError} ERR_CONFIGURATION, with the option, what is wrong with it and what to give instead */
export function checkSenderOptions(options: SenderOptions): void {
  checkOptions(options, senderChecks, { required: ['vapid'] });
  if (options.onGone !== undefined && options.store === undefined) {
    throw wrong('onGone', 'needs a store: it is called for subscriptions that are deleted from it');
  }
}
