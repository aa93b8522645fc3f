// The sender, as applications have it: single messages and broadcasts over one configuration. Making one finds what is
// wrong with its options; the rest (transport, encryption, workers) is loaded with the first message or broadcast, so
// that importing the sender is cheap.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import { createVapidAuthorizer } from '../protocol/vapid-authorizer.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Schedule } from '../store/schedules.ts';
import type { Audience } from './broadcast/audience.ts';
import type { BroadcastRun } from './broadcast/broadcaster.ts';
import { checkSenderOptions } from './check-sender-options.ts';
import type { BroadcastOptions } from './broadcast/create-broadcast.ts';
import type { RecurringAudience, ScheduleOptions } from './schedule/create-schedule.ts';
import { startGoneReports } from './gone-hook.ts';
import type { SenderOptions } from './sender-options.ts';
import type { SendResult } from './single/single-messages.ts';
import type { SubscriptionInput } from './subscription-input.ts';
import { resolveThreadCount } from './worker/thread-count.ts';

export type { SenderOptions } from './sender-options.ts';
export type { SenderVapid } from './settings.ts';
export type { SendResult } from './single/single-messages.ts';
export type { SubscriptionInput } from './subscription-input.ts';

/** Sends messages to one subscription or to many, and controls broadcasts. Made by `createSender`. */
export interface Sender {
  /**
   * Sends one message, once, within `sendTimeoutMs`. What the push service or the network do is told by the outcome,
   * never thrown.
   *
   * @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_INVALID, ERR_MESSAGE_INVALID,
   *   ERR_PAYLOAD_TOO_LARGE, ERR_CLOSED
   */
  send(subscription: SubscriptionInput, message: Message, options?: PushOptions): Promise<SendResult>;
  /**
   * The same with a payload of the caller's own, for a service worker that reads it.
   *
   * @param payload at most 3993 bytes, encrypted as they are; not to be changed until then
   * @throws {DeskbellError} as `send`
   */
  sendPayload(
    subscription: SubscriptionInput,
    payload: Uint8Array,
    options?: PushOptions,
  ): Promise<SendResult>;
  /**
   * Writes a broadcast to the store and begins to deliver it; resolves when it is stored.
   *
   * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE,
   *   ERR_FIELD_TYPE, ERR_IDEMPOTENCY_KEY, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  broadcast(audience: Audience, message: Message, options?: BroadcastOptions): Promise<BroadcastRun>;
  /** The same without delivering it: any sender on the store may, with `resume` or `work`. */
  createBroadcast(
    audience: Audience,
    message: Message,
    options?: BroadcastOptions,
  ): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  /**
   * Stores a broadcast that recurs. Each time becomes a broadcast of its own, made by whichever sender runs `work` then.
   * `store.schedules` lists and removes schedules.
   *
   * @throws {DeskbellError} ERR_SCHEDULE_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_FIELD_VALUE,
   *   ERR_FIELD_TYPE, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  createSchedule(audience: RecurringAudience, message: Message, options: ScheduleOptions): Promise<Schedule>;
  /**
   * Works on a broadcast that is in the store; one that is paused is resumed.
   *
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  resume(broadcastId: number): Promise<BroadcastRun>;
  /**
   * Works on every broadcast of the store, those to come and those of schedules included, until `signal` is aborted.
   *
   * @param onFault called with what interrupted the work, which continues after a while
   * @throws {DeskbellError} ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  work(signal: AbortSignal, onFault?: (fault: unknown) => void): Promise<void>;
  /** Stops broadcasts here, waits for what is in flight, at most ten seconds, and closes the connections. May be called again. */
  close(): Promise<void>;
}

/**
 * Makes a sender. It opens connections when there is something to send and keeps them; one is enough for a process.
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
  let closing: Promise<void> | undefined;

  const lazily = <Part>(load: () => Promise<Part>): Lazy<Part> => {
    let loaded: Promise<Part> | undefined;
    return {
      open() {
        if (closing === undefined) return (loaded ??= load());
        throw new DeskbellError('ERR_CLOSED', 'The sender is closed and sends nothing any more.');
      },
      opened: () => loaded?.catch(() => undefined),
    };
  };
  const single = lazily(async () =>
    (await import('./single/open-single-messages.ts')).openSingleMessages(options),
  );
  const broadcaster = lazily(async () =>
    (await import('./broadcast/open-broadcaster.ts')).openBroadcaster(options),
  );
  const { store, onGone, onWarning = () => {} } = options;
  // From now on, whether anything is sent or not.
  const goneReports = store && onGone && startGoneReports(store.ended, onGone, onWarning);

  const close = async (): Promise<void> => {
    // What was given to the sender while it was loaded comes before.
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

/** Loaded when it is first needed: who makes broadcasts need not wait for what sends single messages. */
interface Lazy<Part> {
  /** @throws {DeskbellError} ERR_CLOSED */
  open(): Promise<Part>;
  /** Nothing where it was not needed, or could not be loaded. */
  opened(): Promise<Part | undefined> | undefined;
}

/** Finds what would be refused later, so that a wrong option fails when the sender is made. */
function assertUsable(options: SenderOptions): void {
  checkSenderOptions(options);
  const { vapid, store, threads } = options;
  const { subject, lifetimeSeconds, previousKeys = [] } = vapid;
  for (const keys of [vapid, ...previousKeys]) createVapidAuthorizer({ keys, subject, lifetimeSeconds });
  // These are called in this thread, whoever delivers.
  const forThreads = { ...options, onWarning: undefined, onGone: undefined, onFigures: undefined };
  if (store !== undefined) resolveThreadCount(threads, forThreads);
}
