// Sends single messages on the same path as broadcasts, and stores the push services' responses. Loaded with the first
// single message, because broadcasts that threads deliver do not need it.
import type { EncryptionMethod } from '../../accelerator/encryption-methods.ts';
import { loadAccelerator } from '../../accelerator/load-accelerator.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { createEncryptBatch, type EncryptBatch } from '../../protocol/message-encryption.ts';
import {
  checkPayload,
  encodeForReaders,
  encodePayload,
  isForReaders,
} from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { Outcome } from '../../protocol/outcome.ts';
import { checkPushOptions, type PushOptions } from '../../protocol/request.ts';
import { defaultTimeouts, maxTimeoutMs } from '../../transport/check-options.ts';
import { systemClock } from '../../transport/clock.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import { SingleMessageRates } from '../limits/single-message-rates.ts';
import type { Addressee } from '../message-path/destinations.ts';
import {
  openMessagePath,
  type PushMessage,
  type Result,
  type SendResult,
} from '../message-path/message-path.ts';
import { readSubscription, type SubscriptionInput } from '../message-path/subscription-input.ts';
import { wakeMessages } from '../../store/unlisted-push-services.ts';
import { logMessage } from '../reports/message-log.ts';
import type { GroupedOptions } from '../settings/sender-options.ts';
import { AnswerLog } from './answer-log.ts';
import { gatherTurn } from './gather.ts';
import { checkReader, findReader, type SendOptions } from './reader.ts';

interface WaitingMessage extends PushMessage {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Opens transport, encryption and message path.
 *
 * @param given options that `createSender` has checked
 */
export function openSingleMessages({
  settings,
  encrypt,
  store,
  sendTimeoutMs,
  messageLog,
  onWarning,
}: GroupedOptions) {
  const { vapid, encryption, transport: transportOptions } = settings;
  const { monotonicNow = systemClock.monotonicNow } = transportOptions;
  const timeoutMs = sendTimeoutMs ?? connectAndAnswerMs(transportOptions);
  const policy = createEndpointPolicy(transportOptions.pushServices);
  const encryptBatch = encrypt ? createEncryptBatch(encrypt) : loadWhenNeeded(encryption);
  const rates = new SingleMessageRates(settings.maxRates);
  const path = openMessagePath(settings, store, encryptBatch, onWarning);
  const endReport = path.startReport('single');
  // subscriptions may have been made with other keys
  const hasOtherKeys = (vapid.previousKeys ?? []).length > 0 || vapid.keyDirectory !== undefined;
  const answers = store && new AnswerLog(store.ledger, path.destinations, onWarning);
  const turn = gatherTurn<WaitingMessage>((messages) => {
    try {
      const nowMs = monotonicNow();
      const admit = ({ destination }: WaitingMessage) => rates.admit(destination, nowMs);
      path.send(messages, admit, (message, result) => message.resolve(result));
    } catch (error) {
      for (const message of messages) message.reject(error);
    }
  });

  /** Looks up the VAPID key of the recipient's subscription. Returns `undefined` if no lookup is needed. */
  const completeKey = (recipient: Addressee): Promise<Addressee> | undefined => {
    const { vapidPublicKey: named } = recipient;
    if (named === undefined ? !hasOtherKeys : path.destinations.hasKey(named)) return undefined;
    return track(async () => {
      // if the caller gives no VAPID key for the subscription, the store may know the key
      const stored = named === undefined && (await store?.subscriptions.findByEndpoint(recipient.endpoint));
      const completed = { ...recipient, vapidPublicKey: stored ? stored.vapidPublicKey : named };
      await path.destinations.loadKeys([completed]);
      return completed;
    });
  };

  const lookups = new Set<Promise<unknown>>();
  const track = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const promise = work().finally(() => lookups.delete(promise));
    lookups.add(promise);
    return promise;
  };

  const post = async (
    input: SubscriptionInput,
    content: Uint8Array | ((recipient: Addressee) => Promise<Uint8Array>),
    options: PushOptions = {},
  ): Promise<SendResult> => {
    const deadlineMs = monotonicNow() + timeoutMs;
    checkPushOptions(options);
    let recipient = readSubscription(input, policy);
    const completing = completeKey(recipient);
    if (completing !== undefined) recipient = await completing;
    const payload = typeof content === 'function' ? await track(() => content(recipient)) : content;
    const destination = path.destinations.find(recipient);
    const result = await new Promise<Result>((resolve, reject) => {
      turn.add({ recipient, destination, payload, options, deadlineMs, resolve, reject });
    });
    const wasSilent = destination.isUnlisted && !destination.gate.hasAccepted;
    await answers?.add(recipient, destination, result);
    if (store !== undefined && wasSilent && destination.gate.hasAccepted)
      track(() => wakeMessages(store, destination.origin)).catch((error: unknown) =>
        onWarning(`Messages that wait for ${destination.origin} were not woken: ${String(error)}`),
      );
    const sent = toSendResult(result);
    if (messageLog !== undefined) logMessage(messageLog, destination.origin, storedIdOf(input), sent);
    return sent;
  };

  return {
    async send(input: SubscriptionInput, message: Message, options?: SendOptions): Promise<SendResult> {
      if (options?.reader === undefined && !isForReaders(message))
        return post(input, encodePayload(message), options);
      const { reader = {}, ...pushOptions } = options ?? {};
      const checked = checkReader(reader);
      const encodeFor = encodeForReaders(message);
      const payloadOf = async ({ endpoint }: Addressee) =>
        encodeFor(await findReader(checked, endpoint, store));
      return post(input, isForReaders(message) ? payloadOf : encodeFor({}), pushOptions);
    },

    async sendPayload(
      input: SubscriptionInput,
      payload: Uint8Array,
      options?: PushOptions,
    ): Promise<SendResult> {
      checkPayload(payload);
      return post(input, payload, options);
    },

    async close(): Promise<void> {
      // the message's reader is looked up only after the subscription's key
      while (lookups.size > 0) await Promise.allSettled(lookups);
      turn.flush();
      await path.transport.close();
      await endReport?.();
      await answers?.close();
    },
  };
}

/** Loads the accelerator only when the first message is encrypted. Refused messages are never encrypted. */
function loadWhenNeeded(fastest: EncryptionMethod | undefined): EncryptBatch {
  let encryptBatch: EncryptBatch | undefined;
  return (messages) => {
    encryptBatch ??= loadAccelerator({ fastest }).encryptBatch;
    return encryptBatch(messages);
  };
}

function connectAndAnswerMs(options: TransportOptions): number {
  const { connectTimeoutMs, responseTimeoutMs } = defaultTimeouts;
  const sumMs =
    (options.connectTimeoutMs ?? connectTimeoutMs) + (options.responseTimeoutMs ?? responseTimeoutMs);
  return Math.min(sumMs, maxTimeoutMs);
}

/** Returns the subscription's id, if it comes from a store. */
const storedIdOf = (input: SubscriptionInput & { readonly id?: unknown }): number | undefined =>
  typeof input.id === 'number' ? input.id : undefined;

function toSendResult(result: Result): SendResult {
  switch (result.kind) {
    case 'response':
      return { outcome: result.outcome, response: result.response };
    case 'failure':
      return { outcome: result.outcome, response: undefined, error: result.error };
    case 'deferred': {
      const { afterMs, detail } = result;
      const outcome: Outcome = { kind: 'retry', reason: 'deferred', afterMs, slowsOrigin: true, detail };
      return { outcome, response: undefined };
    }
    case 'notSendable': {
      const outcome: Outcome = { kind: 'rejected', scope: 'message', isAlarm: true, ...result.fault };
      return { outcome, response: undefined };
    }
    default:
      throw new Error(`A single message is never ${result.kind}.`);
  }
}
