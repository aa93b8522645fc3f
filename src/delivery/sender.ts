// Sends one push message to one subscription: checks, encrypts, posts, and says what the answer means.
// It keeps no state but its connections and tokens; retries and broadcasts are built on top of it.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createTransport } from '../transport/create-transport.ts';
import type { PushResponse, TransportOptions, TransportResult } from '../transport/transport.ts';
import { encodeBase64url } from '../webpush/base64.ts';
import { createEncrypter, type Encrypt } from '../webpush/encryption.ts';
import { createEndpointPolicy, splitEndpoint, type EndpointPolicy } from '../webpush/endpoint-policy.ts';
import type { Outcome } from '../webpush/outcome.ts';
import { encodePayload, type Message } from '../webpush/payload.ts';
import type { PushOptions } from '../webpush/request.ts';
import { parseSubscription, type Subscription } from '../webpush/subscription.ts';
import { createVapidAuthorizer, type VapidKeys } from '../webpush/vapid.ts';
import { createHeaderSource } from './header-source.ts';
import { readResult } from './read-result.ts';

/** The pair that subscriptions were made with, and the contact that push services are told. */
export interface SenderVapid extends VapidKeys {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  /** How long a token is valid, 60 to 86 400 (default 43 200: 12 hours). */
  readonly lifetimeSeconds?: number;
}

export interface SenderOptions extends TransportOptions {
  readonly vapid: SenderVapid;
  /** Stands in for the builtin way, e.g. an accelerator. */
  readonly encrypt?: Encrypt;
}

/** A subscription as a client sends it, base64 in either alphabet, or as a store gives it, in bytes. */
export type SubscriptionInput =
  | { readonly endpoint: string; readonly p256dh: string; readonly auth: string }
  | { readonly endpoint: string; readonly keys: { readonly p256dh: string; readonly auth: string } }
  | Subscription;

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
  /** Waits for what is in flight, at most ten seconds, and closes the connections. May be called again. */
  close(): Promise<void>;
}

/**
 * Makes a sender. It opens connections when there is something to send and keeps them; one is enough for a process.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION
 */
export function createSender({
  vapid: { publicKey, privateKey, subject, lifetimeSeconds },
  encrypt = createEncrypter(),
  ...transportOptions
}: SenderOptions): Sender {
  const policy = createEndpointPolicy(transportOptions.pushServices);
  const headersFor = createHeaderSource(
    createVapidAuthorizer({
      keys: { publicKey, privateKey },
      subject,
      ...(lifetimeSeconds === undefined ? {} : { lifetimeSeconds }),
    }),
  );
  const transport = createTransport(transportOptions);
  let closing: Promise<void> | undefined;

  return {
    async send(input, message, options = {}) {
      if (closing !== undefined) {
        throw new DeskbellError('ERR_CLOSED', 'The sender is closed and sends nothing any more.');
      }
      const plaintext = encodePayload(message);
      const subscription = readSubscription(input, policy);
      const { origin, path } = splitEndpoint(subscription.endpoint);
      const headers = headersFor(origin, options);
      const body = encrypt(plaintext, subscription);
      const result = await new Promise<TransportResult>((resolve) => {
        transport.send({ origin, path, headers, body }, resolve);
      });
      return {
        outcome: readResult(origin, result, Date.now()),
        response: result.kind === 'response' ? result.response : undefined,
        ...(result.kind === 'failure' ? { error: result.error } : {}),
      };
    },

    close() {
      closing ??= transport.close();
      return closing;
    },
  };
}

function readSubscription(input: SubscriptionInput, policy: EndpointPolicy): Subscription {
  return parseSubscription(isInBytes(input) ? toTexts(input) : input, policy);
}

function isInBytes(input: SubscriptionInput): input is Subscription {
  const { p256dh, auth } = (input ?? {}) as Partial<Subscription>;
  return p256dh instanceof Uint8Array && auth instanceof Uint8Array;
}

function toTexts({ endpoint, p256dh, auth }: Subscription): SubscriptionInput {
  return { endpoint, p256dh: encodeBase64url(p256dh), auth: encodeBase64url(auth) };
}
