// The sender's interface for applications.
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Schedule } from '../store/schedules.ts';
import type { Audience } from './broadcast/audience.ts';
import type { BroadcastOptions } from './broadcast/create-broadcast.ts';
import type { Progress } from './broadcast/progress.ts';
import type { SendResult } from './message-path/message-path.ts';
import type { RecurringAudience, ScheduleOptions } from './schedule/create-schedule.ts';
import type { SendOptions } from './single/reader.ts';
import type { SubscriptionInput } from './message-path/subscription-input.ts';

/** Sends messages to one subscription or to many, and controls broadcasts. `createSender` creates a sender. */
export interface Sender {
  /**
   * Sends one message once, within `sendTimeoutMs`. The outcome says what the push service or the network did. A
   * failure of the push service or the network is also an outcome, and is not thrown. A message with `texts` or
   * `placeholders` is adapted to the subscription's reader.
   *
   * @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_INVALID, ERR_MESSAGE_INVALID,
   *   ERR_PAYLOAD_TOO_LARGE, ERR_PLACEHOLDER_VALUE, ERR_FIELD_VALUE and ERR_FIELD_TYPE (of `reader`), ERR_CLOSED
   */
  send(subscription: SubscriptionInput, message: Message, options?: SendOptions): Promise<SendResult>;
  /**
   * Sends your own payload, in the same way as `send`. Your service worker must be able to read this payload.
   *
   * @param payload at most 3993 bytes, encrypted unchanged; do not modify it until the call has resolved
   * @throws {DeskbellError} the same errors as `send`
   */
  sendPayload(
    subscription: SubscriptionInput,
    payload: Uint8Array,
    options?: PushOptions,
  ): Promise<SendResult>;
  /**
   * Writes a broadcast to the store and begins to deliver it. Resolves when the broadcast is stored.
   *
   * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE,
   *   ERR_FIELD_TYPE, ERR_IDEMPOTENCY_KEY, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  broadcast(audience: Audience, message: Message, options?: BroadcastOptions): Promise<BroadcastRun>;
  /**
   * Stores a broadcast without delivering it. Any sender on the same store can deliver the broadcast with `resume` or
   * `work`.
   */
  createBroadcast(
    audience: Audience,
    message: Message,
    options?: BroadcastOptions,
  ): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  /**
   * Stores a broadcast that recurs. Any sender that runs `work` at the time of an occurrence creates a broadcast for
   * the occurrence. `store.schedules` lists, pauses and removes schedules.
   *
   * @throws {DeskbellError} ERR_SCHEDULE_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_FIELD_VALUE,
   *   ERR_FIELD_TYPE, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  createSchedule(audience: RecurringAudience, message: Message, options: ScheduleOptions): Promise<Schedule>;
  /**
   * Delivers a stored broadcast. Resumes the broadcast if it is paused.
   *
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_CONFIGURATION (no store, no ID), ERR_CLOSED
   */
  resume(broadcastId: number): Promise<BroadcastRun>;
  /**
   * Delivers every broadcast in the store, including those that are created later, until `signal` is aborted.
   *
   * @param onFault is called with each error that interrupts the work; the work continues after a pause
   * @throws {DeskbellError} ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  work(signal: AbortSignal, onFault?: (fault: unknown) => void): Promise<void>;
  /**
   * Stops broadcasts in this process, waits at most ten seconds for messages in flight, and closes the connections. You
   * may call this method more than once.
   */
  close(): Promise<void>;
}

/** A broadcast that this process delivers. */
export interface BroadcastRun {
  readonly broadcast: Broadcast;
  /** False if an earlier call with the same idempotency key created the broadcast. */
  readonly isNew: boolean;
  /** Yields the progress of all processes about twice a second, until this process stops delivering. */
  progress(): AsyncIterable<Progress>;
  /** Resolves when this process stops delivering: the broadcast is over or paused, or `stop` was called. */
  readonly finished: Promise<Broadcast>;
  /**
   * Stops delivering in this process after the messages in flight. The broadcast does not change, and can be resumed.
   */
  stop(): Promise<void>;
}
