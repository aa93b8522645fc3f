// The sender's interface for applications.
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Schedule } from '../store/schedules.ts';
import type { Audience } from './broadcast/audience.ts';
import type { BroadcastOptions } from './broadcast/create-broadcast.ts';
import type { Progress } from './broadcast/progress.ts';
import type { SendResult } from './message-path/post.ts';
import type { RecurringAudience, ScheduleOptions } from './schedule/create-schedule.ts';
import type { SendOptions } from './single/reader.ts';
import type { SubscriptionInput } from './message-path/subscription-input.ts';

/** Sends messages to one subscription or to many, and controls broadcasts. Made by `createSender`. */
export interface Sender {
  /**
   * Sends one message, once, within `sendTimeoutMs`. The outcome says what the push service or the network did; it is never thrown. A
   * message with `texts` or `placeholders` is adapted to the subscription's reader.
   *
   * @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE,
   *   ERR_PLACEHOLDER_VALUE, ERR_FIELD_VALUE and ERR_FIELD_TYPE (of `reader`), ERR_CLOSED
   */
  send(subscription: SubscriptionInput, message: Message, options?: SendOptions): Promise<SendResult>;
  /**
   * The same with your own payload, for a service worker that reads it.
   *
   * @param payload at most 3993 bytes, encrypted as they are; do not change it until the call has resolved
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
   * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE, ERR_FIELD_TYPE,
   *   ERR_IDEMPOTENCY_KEY, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  broadcast(audience: Audience, message: Message, options?: BroadcastOptions): Promise<BroadcastRun>;
  /** The same without delivering it: any sender on the store may, with `resume` or `work`. */
  createBroadcast(
    audience: Audience,
    message: Message,
    options?: BroadcastOptions,
  ): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  /**
   * Stores a broadcast that recurs. Each occurrence becomes its own broadcast, made by any sender that runs `work` then. `store.schedules`
   * lists, pauses and removes schedules.
   *
   * @throws {DeskbellError} ERR_SCHEDULE_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_FIELD_VALUE, ERR_FIELD_TYPE,
   *   ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  createSchedule(audience: RecurringAudience, message: Message, options: ScheduleOptions): Promise<Schedule>;
  /**
   * Works on a stored broadcast; a paused one is resumed.
   *
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_CONFIGURATION (no store, no ID), ERR_CLOSED
   */
  resume(broadcastId: number): Promise<BroadcastRun>;
  /**
   * Works on every broadcast of the store, including future ones and those of schedules, until `signal` is aborted.
   *
   * @param onFault called with what interrupted the work, which continues after a while
   * @throws {DeskbellError} ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  work(signal: AbortSignal, onFault?: (fault: unknown) => void): Promise<void>;
  /** Stops broadcasts here, waits at most ten seconds for messages in flight, and closes the connections. May be called again. */
  close(): Promise<void>;
}

/** A broadcast that this process works on. */
export interface BroadcastRun {
  readonly broadcast: Broadcast;
  /** False if an earlier call with the same idempotency key made it. */
  readonly isNew: boolean;
  /** Progress, about twice a second, including that of other processes; ends when the work here ends. */
  progress(): AsyncIterable<Progress>;
  /** Resolves when the work here has ended: the broadcast is over or paused, or `stop` was called. */
  readonly finished: Promise<Broadcast>;
  /** Ends the work here after the messages in flight; the broadcast stays as it is and can be continued. */
  stop(): Promise<void>;
}
