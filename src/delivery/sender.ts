// Sends one push message to one subscription: checks, encrypts, posts, and says what the answer means.
// Broadcasts, which are stored, retried and delivered by many workers, begin here as well.
import { loadAccelerator } from '../accelerator/load-accelerator.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Store } from '../store/store.ts';
import { createTransport } from '../transport/create-transport.ts';
import type { PushResponse } from '../protocol/push-response.ts';
import type { TransportOptions, TransportResult } from '../transport/transport.ts';
import type { Encrypt } from '../protocol/encryption.ts';
import { createEndpointPolicy, splitEndpoint } from '../protocol/endpoint-policy.ts';
import type { Outcome } from '../protocol/outcome.ts';
import { encodePayload, type Message } from '../protocol/payload.ts';
import type { PushOptions } from '../protocol/request.ts';
import { createVapidAuthorizer } from '../protocol/vapid.ts';
import type { Audience } from './audience.ts';
import type { BroadcastOptions } from './create-broadcast.ts';
import { createDeliverer, type BroadcastRun, type Deliverer } from './deliverer.ts';
import type { SenderVapid } from './delivery-settings.ts';
import { createHeaderSource } from './header-source.ts';
import { readResult } from './read-result.ts';
import type { RetryPolicy } from './retry-policy.ts';
import { readSubscription, type SubscriptionInput } from './subscription-input.ts';

export type { SenderVapid } from './delivery-settings.ts';
export type { SubscriptionInput } from './subscription-input.ts';

export interface SenderOptions extends TransportOptions {
  readonly vapid: SenderVapid;
  /** Stands in for the accelerator where that is built, and for the builtin way elsewhere. */
  readonly encrypt?: Encrypt;
  /** Where broadcasts stand; needed for them only. */
  readonly store?: Store;
  /** Worker threads for large broadcasts, by default one per core; 0 delivers in this thread. */
  readonly threads?: number;
  /** Told once, in words, why broadcasts are encrypted with Node's builtins: the accelerator is not built, say. */
  readonly onRemark?: (remark: string) => void;
  /** When and how often a row of a broadcast is tried again. */
  readonly retryPolicy?: RetryPolicy;
  /** How long a worker that has gone silent keeps its part of a broadcast (default 10 000). */
  readonly leaseMs?: number;
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
export function createSender({
  vapid,
  encrypt,
  store,
  threads,
  onRemark,
  retryPolicy,
  leaseMs,
  ...transportOptions
}: SenderOptions): Sender {
  const policy = createEndpointPolicy(transportOptions.pushServices);
  const { publicKey, privateKey, subject, lifetimeSeconds } = vapid;
  const headersFor = createHeaderSource(
    createVapidAuthorizer({
      keys: { publicKey, privateKey },
      subject,
      ...(lifetimeSeconds === undefined ? {} : { lifetimeSeconds }),
    }),
  );
  let encryptOne = encrypt;
  const transport = createTransport(transportOptions);
  const deliverer =
    store &&
    createDeliverer({
      store,
      vapid,
      transport: transportOptions,
      ...(threads !== undefined && { threads }),
      ...(encrypt !== undefined && { encrypt }),
      ...(onRemark !== undefined && { onRemark }),
      ...(retryPolicy !== undefined && { retryPolicy }),
      ...(leaseMs !== undefined && { leaseMs }),
    });
  let closing: Promise<void> | undefined;

  const refuseClosed = () => {
    if (closing === undefined) return;
    throw new DeskbellError('ERR_CLOSED', 'The sender is closed and sends nothing any more.');
  };

  const requireDeliverer = (): Deliverer => {
    refuseClosed();
    if (deliverer !== undefined) return deliverer;
    throw new DeskbellError('ERR_CONFIGURATION', 'Broadcasts are kept in a store: give createSender one.');
  };

  return {
    async send(input, message, options = {}) {
      refuseClosed();
      const plaintext = encodePayload(message);
      const subscription = readSubscription(input, policy);
      const { origin, path } = splitEndpoint(subscription.endpoint);
      const headers = headersFor(origin, options);
      encryptOne ??= loadAccelerator().encrypt;
      const body = encryptOne(plaintext, subscription);
      const result = await new Promise<TransportResult>((resolve) => {
        transport.send({ origin, path, headers, body }, resolve);
      });
      return {
        outcome: readResult(origin, result, Date.now()),
        response: result.kind === 'response' ? result.response : undefined,
        ...(result.kind === 'failure' ? { error: result.error } : {}),
      };
    },

    broadcast: async (audience, message, options) => requireDeliverer().broadcast(audience, message, options),
    createBroadcast: async (audience, message, options) =>
      requireDeliverer().createBroadcast(audience, message, options),
    resume: async (broadcastId) => requireDeliverer().resume(broadcastId),
    work: async (signal, onFault) => requireDeliverer().work(signal, onFault),

    close() {
      closing ??= Promise.all([deliverer?.close(), transport.close()]).then(() => {});
      return closing;
    },
  };
}
