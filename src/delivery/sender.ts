// Sends one push message to one subscription, on the same path as the messages of broadcasts, which begin here as well.
// What connections, encryption and broadcasts need is loaded when they begin, so that importing the sender is cheap.
import type { EncryptionMethod } from '../accelerator/load-accelerator.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import { createEncryptBatch, type EncryptBatch } from '../protocol/encrypt-batch.ts';
import type { Encrypt } from '../protocol/encryption.ts';
import type { Outcome } from '../protocol/outcome.ts';
import { encodePayload, type Message } from '../protocol/payload.ts';
import type { PushResponse } from '../protocol/push-response.ts';
import { checkPushOptions, type PushOptions } from '../protocol/request.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Store } from '../store/store.ts';
import { createTransport } from '../transport/create-transport.ts';
import type { TransportOptions } from '../transport/transport.ts';
import type { Audience } from './audience.ts';
import { createBroadcaster, type Broadcaster, type BroadcastRun } from './broadcaster.ts';
import type { BroadcastOptions } from './create-broadcast.ts';
import { gatherTurn } from './gather.ts';
import { createMessagePath } from './message-path.ts';
import type { Result } from './post.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { PushMessage } from './select.ts';
import type { SenderVapid, WorkerSettings } from './settings.ts';
import { readSubscription, type SubscriptionInput } from './subscription-input.ts';

export type { SenderVapid } from './settings.ts';
export type { SubscriptionInput } from './subscription-input.ts';

export interface SenderOptions extends TransportOptions {
  readonly vapid: SenderVapid;
  /** Stands in for the accelerator where that is built, and for the builtin way elsewhere. */
  readonly encrypt?: Encrypt;
  /** The fastest method of encryption that may be used: `multi-buffer` (default), `openssl` or `builtin`. */
  readonly encryption?: EncryptionMethod;
  /** Where broadcasts stand; needed for them only. */
  readonly store?: Store;
  /** Worker threads for large broadcasts, by default one per core; 0 delivers in this thread. */
  readonly threads?: number;
  /** Told once, in words, why broadcasts are encrypted with Node's builtins: the accelerator is not built, say. */
  readonly onWarning?: (warning: string) => void;
  /** When and how often a row of a broadcast is tried again. */
  readonly retryPolicy?: RetryPolicy;
  /** Sizes and times of the workers, where they differ from the defaults. */
  readonly worker?: Partial<WorkerSettings>;
}

export interface SendResult {
  readonly outcome: Outcome;
  /** The push service's answer; `undefined` where none came, and then `error` or the outcome's detail says why. */
  readonly response: PushResponse | undefined;
  /** The network, TLS, time-out or address fault that there is no answer for. */
  readonly error?: DeskbellError;
}

export interface Sender {
  /**
   * Sends one message, once. What the push service or the network do is told by the outcome, never thrown.
   *
   * @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_INVALID, ERR_MESSAGE_INVALID,
   *   ERR_PAYLOAD_TOO_LARGE, ERR_CLOSED
   */
  send(subscription: SubscriptionInput, message: Message, options?: PushOptions): Promise<SendResult>;
  /**
   * Writes a broadcast to the store and begins to deliver it; resolves when it is stored.
   *
   * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE,
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
   * Works on a broadcast that is in the store; one that is paused goes on.
   *
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  resume(broadcastId: number): Promise<BroadcastRun>;
  /**
   * Works on every broadcast of the store, those to come included, until `signal` is aborted.
   *
   * @param onFault is told what interrupted the work; it goes on after a while
   * @throws {DeskbellError} ERR_CONFIGURATION (no store), ERR_CLOSED
   */
  work(signal: AbortSignal, onFault?: (fault: unknown) => void): Promise<void>;
  /** Stops broadcasts here, waits for what is in flight, at most ten seconds, and closes the connections. May be called again. */
  close(): Promise<void>;
}

/**
 * Makes a sender. It opens connections when there is something to send and keeps them; one is enough for a process.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION
 */
export function createSender(options: SenderOptions): Sender {
  const { vapid, encrypt, encryption, store, threads, onWarning, retryPolicy, worker, ...transportOptions } =
    options;
  const transport = createTransport(transportOptions);
  const policy = createEndpointPolicy(transportOptions.pushServices);
  const settings = { vapid, transport: transportOptions, retryPolicy, encryption, worker };
  let encryptBatch: EncryptBatch | undefined = encrypt && createEncryptBatch(encrypt);
  let loading: Promise<EncryptBatch> | undefined;
  const path = createMessagePath(settings, transport, (messages) => encryptBatch!(messages));
  const broadcaster = store && createBroadcaster({ ...settings, store, threads, encrypt, onWarning });
  const single = gatherTurn<SingleMessage>((messages) => {
    try {
      path.send(messages, admitAll, (message, result) => message.resolve(result));
    } catch (error) {
      for (const message of messages) message.reject(error);
    }
  });
  let closing: Promise<void> | undefined;

  const assertOpen = (): void => {
    if (closing === undefined) return;
    throw new DeskbellError('ERR_CLOSED', 'The sender is closed and sends nothing any more.');
  };

  const requireBroadcaster = (): Broadcaster => {
    assertOpen();
    if (broadcaster !== undefined) return broadcaster;
    throw new DeskbellError('ERR_CONFIGURATION', 'Broadcasts are kept in a store: give createSender one.');
  };

  const closeAll = async (): Promise<void> => {
    // What was given to send before is still sent.
    await loading;
    single.flush();
    await Promise.all([broadcaster?.close(), transport.close()]);
  };

  return {
    async send(input, message, pushOptions = {}) {
      assertOpen();
      const payload = encodePayload(message);
      checkPushOptions(pushOptions);
      const recipient = readSubscription(input, policy);
      const destination = path.destinations.find(recipient);
      encryptBatch ??= await (loading ??= loadEncryptBatch(encryption));
      const result = await new Promise<Result>((resolve, reject) => {
        single.add({ recipient, destination, payload, options: pushOptions, resolve, reject });
      });
      return toSendResult(result);
    },

    broadcast: async (...message) => requireBroadcaster().broadcast(...message),
    createBroadcast: async (...message) => requireBroadcaster().createBroadcast(...message),
    resume: async (broadcastId) => requireBroadcaster().resume(broadcastId),
    work: async (signal, onFault) => requireBroadcaster().work(signal, onFault),

    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** A message that is sent by itself, and who waits for what comes of it. */
interface SingleMessage extends PushMessage {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Loaded with the first message: a sender that makes broadcasts only needs none in this thread. */
async function loadEncryptBatch(fastest: EncryptionMethod | undefined): Promise<EncryptBatch> {
  const { loadAccelerator } = await import('../accelerator/load-accelerator.ts');
  return loadAccelerator({ fastest }).encryptBatch;
}

/** Who sends a single message decides by himself when. */
const admitAll = (): undefined => undefined;

function toSendResult(result: Result): SendResult {
  switch (result.kind) {
    case 'posted': {
      const { outcome, response, error } = result;
      return error === undefined ? { outcome, response } : { outcome, response, error };
    }
    case 'deferred': {
      const { afterMs, detail } = result;
      const outcome: Outcome = { kind: 'retry', reason: 'deferred', afterMs, slowsOrigin: true, detail };
      return { outcome, response: undefined };
    }
    case 'refused': {
      const outcome: Outcome = { kind: 'rejected', scope: 'message', isAlarm: true, ...result.refusal };
      return { outcome, response: undefined };
    }
    case 'heldBack':
    case 'expired':
      throw new Error(`A single message is never ${result.kind}.`);
  }
}
