// Sends single messages, on the same path as those of broadcasts, and reports the push services' answers to the store.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { Outcome } from '../../protocol/outcome.ts';
import { checkPayload, encodePayload } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { PushResponse } from '../../protocol/push-response.ts';
import { checkPushOptions, type PushOptions } from '../../protocol/request.ts';
import type { Store } from '../../store/store.ts';
import { AnswerLog } from './answer-log.ts';
import type { Addressee } from '../message-path/destinations.ts';
import { gatherTurn } from './gather.ts';
import type { MessagePath } from '../message-path/message-path.ts';
import type { Result } from '../message-path/post.ts';
import type { PushMessage } from '../message-path/select.ts';
import { readSubscription, type SubscriptionInput } from '../subscription-input.ts';

/** What came of one message: its meaning, and the push service's response where there was one. */
export interface SendResult {
  readonly outcome: Outcome;
  /** The push service's answer; `undefined` where none came, and then `error` or the outcome's detail says why. */
  readonly response: PushResponse | undefined;
  /** The network, TLS, time-out or address fault that there is no answer for. */
  readonly error?: DeskbellError;
}

export interface SingleMessagesOptions {
  readonly path: MessagePath;
  readonly policy: EndpointPolicy;
  readonly store: Store | undefined;
  /** Some subscriptions may have been made with another key than the current one. */
  readonly hasOtherKeys: boolean;
  /** For all that happens to a message. */
  readonly timeoutMs: number;
  readonly monotonicNow: () => number;
  readonly onWarning: (warning: string) => void;
}

export interface SingleMessages {
  /** As `Sender.send`. */
  send(input: SubscriptionInput, message: Message, options?: PushOptions): Promise<SendResult>;
  /** As `Sender.sendPayload`. */
  sendPayload(input: SubscriptionInput, payload: Uint8Array, options?: PushOptions): Promise<SendResult>;
  /** Resolves when all messages that were given are with the transport. */
  flush(): Promise<void>;
  /** Stores what is still to be told to the store. */
  close(): Promise<void>;
}

/** A message and who waits for what comes of it. */
interface WaitingMessage extends PushMessage {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function createSingleMessages({
  path,
  policy,
  store,
  hasOtherKeys,
  timeoutMs,
  monotonicNow,
  onWarning,
}: SingleMessagesOptions): SingleMessages {
  const answers = store && new AnswerLog(store.ledger, path.destinations, onWarning);
  const turn = gatherTurn<WaitingMessage>((messages) => {
    try {
      path.send(messages, admitAll, (message, result) => message.resolve(result));
    } catch (error) {
      for (const message of messages) message.reject(error);
    }
  });

  /** A subscription's own key is in the store where the caller does not name it. */
  const findKey = async ({ endpoint }: Addressee): Promise<string | undefined> => {
    const stored = await store?.subscriptions.findByEndpoint(endpoint);
    return stored?.vapidPublicKey;
  };

  /** The recipient with its key, where that must be looked up; `undefined` as a rule. */
  const completeKey = (recipient: Addressee): Promise<Addressee> | undefined => {
    const { vapidPublicKey: named } = recipient;
    if (named === undefined ? !hasOtherKeys : path.destinations.hasKey(named)) return undefined;
    return track(async () => {
      const completed = { ...recipient, vapidPublicKey: named ?? (await findKey(recipient)) };
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
    payload: Uint8Array,
    options: PushOptions = {},
  ): Promise<SendResult> => {
    const deadlineMs = monotonicNow() + timeoutMs;
    checkPushOptions(options);
    let recipient = readSubscription(input, policy);
    const completing = completeKey(recipient);
    if (completing !== undefined) recipient = await completing;
    const destination = path.destinations.find(recipient);
    const result = await new Promise<Result>((resolve, reject) => {
      turn.add({ recipient, destination, payload, options, deadlineMs, resolve, reject });
    });
    await answers?.add(recipient, destination, result);
    return toSendResult(result);
  };

  return {
    send: async (input, message, options) => post(input, encodePayload(message), options),

    async sendPayload(input, payload, options) {
      checkPayload(payload);
      return post(input, payload, options);
    },

    flush: async () => {
      await Promise.allSettled(lookups);
      turn.flush();
    },
    close: async () => answers?.close(),
  };
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
    case 'notSendable': {
      const outcome: Outcome = { kind: 'rejected', scope: 'message', isAlarm: true, ...result.fault };
      return { outcome, response: undefined };
    }
    case 'notListed':
    case 'suspended':
    case 'rateLimited':
    case 'expired':
    case 'capped':
      throw new Error(`A single message is never ${result.kind}.`);
  }
}
