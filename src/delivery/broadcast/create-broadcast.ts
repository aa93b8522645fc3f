// Idempotency keys. If a request with a key is repeated, nothing is sent twice. Each operator has separate keys.
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkOptions, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError, fieldError } from '../../errors/deskbell-error.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { actionNames } from '../../protocol/message/check-message.ts';
import { encodeMessage, hashMessage } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import { defaultTtlSeconds } from '../../protocol/request.ts';
import {
  type Broadcast,
  type BroadcastCreator,
  type BroadcastStore,
  repeatBroadcast,
} from '../../store/broadcasts.ts';
import {
  deliveryOptionChecks,
  type DeliveryOptions,
  pickDeliveryOptions,
} from '../../store/delivery-options.ts';
import { lifetimeOf } from '../../store/reader-times.ts';
import { defaultSliceRows } from '../../store/slices.ts';
import type { Store } from '../../store/store.ts';
import { type Audience, checkAudience, hashLookedUp, isLookedUp, writeAudience } from './audience.ts';
import { checkCreator, thisApplication } from './format-broadcast.ts';
import { checkReaderOptions, planReaders, startsBeforeMs } from './reader-options.ts';

export const maxKeyCharacters = 200;

/** @throws {DeskbellError} ERR_MESSAGE_INVALID */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  const isShort = typeof key === 'string' && key.length > 0 && key.length <= maxKeyCharacters;
  // SQLite or PostgreSQL cannot store a key that contains NUL or a lone surrogate
  if (isShort && key.isWellFormed() && !key.includes('\0')) return;
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The idempotency key must be a string of 1 to ${maxKeyCharacters} characters, none of them NUL or a lone surrogate.`,
  );
}

/** Returns an operator's key in its stored form. A line break separates name and key, because no name contains one. */
export const operatorKey = (operator: string, key: string): string => `operator ${operator}\n${key}`;

const operatorPrefix = /^operator [^\n]*\n/;

/** Returns the key in the form that the operator gave it. */
export const givenKey = (stored: string): string => stored.replace(operatorPrefix, '');

// Writes a broadcast to the store. After that, any worker of any process may deliver it.

/** Options for creating and delivering a broadcast. */
export interface BroadcastOptions extends DeliveryOptions {
  /** A repeated call with the same key, message and audience returns the same broadcast and sends nothing twice. */
  readonly idempotencyKey?: string | undefined;
  /** Nothing is sent before this time. Default: now. */
  readonly startAt?: Date | undefined;
  /** The creator, which operators see. Default: the application, identified by the name of its machine. */
  readonly createdBy?: BroadcastCreator | undefined;
}

const broadcastChecks: OptionChecks<BroadcastOptions> = {
  ...deliveryOptionChecks,
  idempotencyKey: checkKey,
  startAt: checkStart,
  createdBy: checkCreator,
};

/**
 * Checks the options of a broadcast that is to be created now.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function checkBroadcastOptions(options: BroadcastOptions, nowMs: number): void {
  checkOptions(options, broadcastChecks, { code: 'ERR_MESSAGE_INVALID' });
  checkReaderOptions(options, nowMs);
  const { startAt } = options;
  if (startAt === undefined) return;
  if (startAt.getTime() >= startsBeforeMs)
    throw fieldError(
      'ERR_MESSAGE_INVALID',
      '/startAt',
      'The start (startAt) is too late; give a time before the year 9999.',
    );
  if (startAt.getTime() >= nowMs - maxLateMs) return;
  const detail = `The start (startAt) is ${startAt.toISOString()}, more than a minute ago; give a time to come, or none to send now.`;
  throw fieldError('ERR_MESSAGE_INVALID', '/startAt', detail);
}

/** A start may be this far in the past, because typing takes time and the caller's clock may be slow. */
export const maxLateMs = 60_000;
const occurrencePrefix = 'schedule/';

export interface Occurrence {
  readonly scheduleId: number;
  readonly atMs: number;
}

/**
 * Checks message and options, then writes the audience and the broadcast.
 *
 * @param occurrence a schedule's occurrence. It is the idempotency key, so that its broadcast is created only once
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE,
 *   ERR_FIELD_TYPE, ERR_IDEMPOTENCY_KEY
 */
export async function createBroadcast(
  store: Pick<Store, 'attempts' | 'broadcasts' | 'channels' | 'readers' | 'now'>,
  policy: EndpointPolicy,
  audience: Audience,
  message: Message,
  options: BroadcastOptions,
  occurrence?: Occurrence,
): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }> {
  checkAudience(audience);
  checkOptions(options, broadcastChecks, { code: 'ERR_MESSAGE_INVALID' });
  const { broadcasts, now } = store;
  const { receipts: isWithReceipts = false, ...given } = pickDeliveryOptions(options);
  const content = { isWithReceipts, channel: given.channel };
  const encoded = encodeMessage(message, content);
  const { ttlSeconds = defaultTtlSeconds, urgency = 'normal', topic, ...others } = given;
  const idempotencyKey = occurrence === undefined ? storedKey(options) : keyOf(occurrence);
  const startAtMs = options.startAt?.getTime() ?? now();

  const receipts = isWithReceipts ? ['receipts'] : [];
  const contentOptions = [ttlSeconds, urgency, topic ?? null, ...receipts, ...Object.entries(others)];
  const hashContent = (audienceHash: Uint8Array): Buffer =>
    createHash('sha256')
      .update(JSON.stringify(contentOptions))
      .update(hashMessage(message, content))
      .update(audienceHash)
      .digest();

  // look for an earlier call first, so that a repeated call does not write a million members again
  const known = idempotencyKey === undefined ? undefined : await broadcasts.findByKey(idempotencyKey);
  if (known !== undefined && isLookedUp(audience)) {
    return repeatBroadcast(known, hashContent(hashLookedUp(audience)));
  }
  if (known === undefined && occurrence === undefined) checkBroadcastOptions(options, now());
  const fromMs = occurrence?.atMs ?? startAtMs;
  const plan = await planReaders(audience, encoded, given, startAtMs, fromMs, store);
  const { hash, ...written } = await writeAudience(audience, store, policy, plan.split !== undefined);
  return broadcasts.create({
    payload: encoded.payload,
    ...(encoded.texts.size > 0 && { texts: encoded.texts }),
    hasPlaceholders: message.placeholders === true,
    split: plan.split,
    ...plan.resolved,
    ttlSeconds,
    urgency,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...written,
    createdBy:
      occurrence === undefined
        ? (options.createdBy ?? thisApplication())
        : { schedule: occurrence.scheduleId },
    contentHash: hashContent(hash),
    startAtMs,
    expiresAtMs: startAtMs + lifetimeOf(ttlSeconds),
    ...plan.timesOfList,
    receiptActions: isWithReceipts ? actionNames(message) : undefined,
    sliceRows: defaultSliceRows,
  });
}

function checkStart(startAt: unknown): void {
  const isDate = startAt instanceof Date && !Number.isNaN(startAt.getTime());
  if (!isDate) throw new DeskbellError('ERR_MESSAGE_INVALID', 'startAt is not a valid date.');
}

const keyOf = ({ scheduleId, atMs }: Occurrence): string =>
  `${occurrencePrefix}${scheduleId}/${new Date(atMs).toISOString()}`;

function storedKey({ idempotencyKey, createdBy }: BroadcastOptions): string | undefined {
  const isOfOperator = idempotencyKey !== undefined && createdBy !== undefined && 'operator' in createdBy;
  return isOfOperator ? operatorKey(createdBy.operator, idempotencyKey) : idempotencyKey;
}

function checkKey(key: unknown): void {
  checkIdempotencyKey(key);
  if (operatorPrefix.test(key)) {
    throw new DeskbellError(
      'ERR_MESSAGE_INVALID',
      'The idempotency key begins with "operator" and has a line break, as stored keys of operators do; choose another one.',
    );
  }
  if (!key.startsWith(occurrencePrefix)) return;
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The idempotency key begins with "${occurrencePrefix}", as those of schedules do; choose another one.`,
  );
}

// Prepares broadcasts: looks up the audience of an expression, range by range. Any process may do this, and continue
// where another process has stopped. A broadcast is sent once its audience is complete.

/** How often to check whether another process has finished preparing the broadcast. */
const lookEveryMs = 250;
const lookForWorkEveryMs = 1000;

/**
 * Prepares a broadcast, or waits until another process has done so.
 *
 * @returns the broadcast; it is still `preparing` only if `signal` was aborted
 */
export async function prepareBroadcast(
  broadcasts: BroadcastStore,
  id: number,
  signal: AbortSignal,
): Promise<Broadcast> {
  const holder = randomUUID();
  for (;;) {
    while (!signal.aborted && (await broadcasts.prepare(id, holder)));
    const broadcast = await broadcasts.get(id);
    if (broadcast.state !== 'preparing' || signal.aborted) return broadcast;
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * Prepares broadcasts that other processes have left unprepared, until `signal` is aborted.
 *
 * @param onFault called if a broadcast cannot be prepared. When its lease has ended, the preparation is tried again
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, because no other broadcast can be prepared either
 */
export async function runPreparations(
  { broadcasts }: Pick<Store, 'broadcasts'>,
  signal: AbortSignal,
  onFault: (fault: unknown) => void,
): Promise<void> {
  const holder = randomUUID();
  while (!signal.aborted) {
    const id = await broadcasts.findUnprepared();
    if (id !== undefined) {
      try {
        while (!signal.aborted && (await broadcasts.prepare(id, holder)));
        continue;
      } catch (fault) {
        if (fault instanceof DeskbellError && fault.code === 'ERR_STORE_UNAVAILABLE') throw fault;
        onFault(fault);
      }
    }
    await sleep(lookForWorkEveryMs, undefined, { signal }).catch(() => {});
  }
}
