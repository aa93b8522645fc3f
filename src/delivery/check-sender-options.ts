// Checks what the types cannot hold callers in JavaScript to, so that a wrong option fails when the sender is made. The
// transport checks its own.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { receiptKeyBytes } from '../protocol/message/receipt-token.ts';
import { maxTimeoutMs } from '../transport/check-options.ts';
import { parseMaxRates } from './limits/max-rate.ts';
import { defaultRetryPolicy } from './worker/retry-policy.ts';
import { defaultWorkerSettings } from './settings.ts';

/** @throws {DeskbellError} ERR_CONFIGURATION, naming the option, what is wrong with it and what to give instead */
export function checkSenderOptions(options: {
  readonly vapid?: unknown;
  readonly threads?: unknown;
  readonly sendTimeoutMs?: unknown;
  readonly store?: unknown;
  readonly onGone?: unknown;
  readonly worker?: unknown;
  readonly retryPolicy?: unknown;
  readonly receiptKey?: unknown;
  readonly maxRate?: unknown;
}): void {
  const { vapid, threads, sendTimeoutMs, store, onGone, worker, retryPolicy, receiptKey, maxRate } = options;
  checkObject('vapid', vapid);
  checkKeyPairs('vapid.previousKeys', vapid['previousKeys']);
  const { keyDirectory } = vapid;
  if (keyDirectory !== undefined && typeof keyDirectory !== 'string') {
    throw wrong('vapid.keyDirectory', `must be a path, not ${kindOf(keyDirectory)}`);
  }
  if (threads !== undefined) checkNumber('threads', threads, { min: 0, max: 1024, isWhole: true });
  if (sendTimeoutMs !== undefined) checkNumber('sendTimeoutMs', sendTimeoutMs, { min: 1, max: maxTimeoutMs });
  if (onGone !== undefined && typeof onGone !== 'function') {
    throw wrong('onGone', `must be a function, not ${kindOf(onGone)}`);
  }
  if (onGone !== undefined && store === undefined) {
    throw wrong('onGone', 'needs a store: it is told of subscriptions that leave it');
  }
  const isKey = receiptKey instanceof Uint8Array && receiptKey.length === receiptKeyBytes;
  if (receiptKey !== undefined && !isKey) {
    throw wrong('receiptKey', `must be a Uint8Array of ${receiptKeyBytes} random bytes`);
  }
  if (maxRate !== undefined) {
    const isList = Array.isArray(maxRate) && maxRate.every((limit) => typeof limit === 'string');
    if (!isList) throw wrong('maxRate', 'must be an array of limits, such as ["fcm.googleapis.com=500/s"]');
    parseMaxRates(maxRate);
  }
  checkNumbers('worker', worker, Object.keys(defaultWorkerSettings));
  checkNumbers('retryPolicy', retryPolicy, Object.keys(defaultRetryPolicy));
}

function checkKeyPairs(name: string, value: unknown): void {
  if (value === undefined) return;
  if (!Array.isArray(value)) throw wrong(name, `must be an array of key pairs, not ${kindOf(value)}`);
  for (const [index, item] of value.entries()) checkObject(`${name}[${index}]`, item);
}

function checkObject(name: string, value: unknown): asserts value is Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw wrong(name, `must be an object, not ${kindOf(value)}`);
}

function checkNumbers(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined) return;
  checkObject(name, value);
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) throw wrong(`${name}.${key}`, `is unknown; there are ${allowed.join(', ')}`);
  }
  for (const key of allowed) {
    if (Object.hasOwn(value, key))
      checkNumber(`${name}.${key}`, value[key], { min: 1, max: Number.MAX_SAFE_INTEGER });
  }
}

function checkNumber(
  name: string,
  value: unknown,
  { min, max, isWhole = false }: { readonly min: number; readonly max: number; readonly isWhole?: boolean },
): void {
  const isInBounds = typeof value === 'number' && value >= min && value <= max;
  if (isInBounds && (!isWhole || Number.isInteger(value))) return;
  const given = typeof value === 'number' ? String(value) : kindOf(value);
  throw wrong(name, `must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}, not ${given}`);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}

function wrong(name: string, what: string): DeskbellError {
  return new DeskbellError('ERR_CONFIGURATION', `"${name}" ${what}.`);
}
