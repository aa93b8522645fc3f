// The path of push messages, which single messages and broadcasts share:
//
//   select ─▶ encrypt a batch ─▶ post ─▶ record
//
// The first three steps are here. The caller records the result.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { EncryptBatch } from '../../protocol/message-encryption.ts';
import type { Outcome, PushResponse } from '../../protocol/outcome.ts';
import type { PushOptions } from '../../protocol/request.ts';
import type { SenderReport } from '../../store/sending.ts';
import type { Store } from '../../store/store.ts';
import { systemClock } from '../../transport/clock.ts';
import { createTransport, type TransportRules } from '../../transport/create-transport.ts';
import type { Sending, TransportResult } from '../../transport/transport.ts';
import type { NotSent } from '../limits/not-sent.ts';
import { ClockCheck } from '../reports/clock-check.ts';
import { startSenderReport } from '../reports/sender-report.ts';
import { defaultWorkerSettings, type DeliverySettings } from '../settings/settings.ts';
import { type Addressee, createDestinations, type Destination, pathOf } from './destinations.ts';
import { createSigningKeys } from './signing-keys.ts';

/** One push message for one subscription. */
export interface PushMessage {
  readonly recipient: Addressee;
  readonly destination: Destination;
  readonly payload: Uint8Array;
  readonly options: PushOptions;
  /** When the response is due, by the monotonic clock. If absent, only the transport's time limits apply. */
  readonly deadlineMs?: number | undefined;
  /** Set when the message is posted. */
  sending?: Sending | undefined;
}

/** The result of sending one message: the outcome, and the push service's response if there was one. */
export interface SendResult {
  readonly outcome: Outcome;
  /** `undefined` if the push service did not respond. Then `error` or the outcome's detail says why. */
  readonly response: PushResponse | undefined;
  /** Why there was no response: network, TLS, time limit or address. */
  readonly error?: DeskbellError;
}

export type Result = TransportResult | NotSent;

/** Called before any work on a message. @returns `undefined` if the message may be sent */
type Admit<Message extends PushMessage> = (message: Message) => NotSent | undefined;

function refuse<Message extends PushMessage>(message: Message, admit: Admit<Message>): NotSent | undefined {
  const { notListed, notSendable } = message.destination;
  if (notListed !== undefined) return { kind: 'notListed', detail: notListed };
  if (notSendable !== undefined) return { kind: 'notSendable', fault: notSendable };
  return admit(message);
}

/** @throws {DeskbellError} ERR_MESSAGE_INVALID if the options are wrong and were not checked before */
const toEncrypt = <Message extends PushMessage>(message: Message) => ({
  message,
  headers: message.destination.headersFor(message.options),
  plaintext: message.payload,
  subscription: message.recipient,
});

export type MessagePath = ReturnType<typeof openMessagePath>;

/**
 * Opens a message path, which encrypts and posts messages, with its own connections. If there is a store, the path
 * uses the store's clock.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION
 */
export function openMessagePath(
  settings: Pick<DeliverySettings, 'vapid' | 'worker' | 'transport'>,
  store: Pick<Store, 'vapidKeys' | 'senders' | 'unlisted' | 'now'> | undefined,
  encryptBatch: EncryptBatch,
  onWarning: (warning: string) => void,
  rules: TransportRules = {},
) {
  const { vapid, worker, transport: options } = settings;
  const { monotonicNow = systemClock.monotonicNow } = options;
  const now = store?.now ?? options.now ?? Date.now;
  const transport = createTransport({ ...options, now }, rules);
  const clockCheck = new ClockCheck(onWarning);
  const policy = createEndpointPolicy(options.pushServices);
  const destinations = createDestinations(
    createSigningKeys(vapid, store?.vapidKeys, now),
    vapid.subject,
    policy,
    { ...defaultWorkerSettings, ...worker },
    monotonicNow,
    transport,
    store?.unlisted,
  );

  const timeLeft = ({ deadlineMs }: PushMessage): number | undefined =>
    deadlineMs === undefined ? undefined : Math.max(0, deadlineMs - monotonicNow());

  return {
    destinations,
    transport,

    /**
     * Sends messages together.
     *
     * @param admit may prevent a message from being sent
     * @param record called exactly once for each message; at once if the message is not posted
     * @returns the messages that were posted
     */
    send<Message extends PushMessage>(
      messages: readonly Message[],
      admit: Admit<Message>,
      record: (message: Message, result: Result) => void,
    ): readonly Message[] {
      const selected: ReturnType<typeof toEncrypt<Message>>[] = [];
      for (const message of messages) {
        const notSent = refuse(message, admit);
        if (notSent === undefined) selected.push(toEncrypt(message));
        else record(message, notSent);
      }
      const posted: Message[] = [];
      // each body has its own key pair. If a subscription's key is invalid, only its own message fails
      for (const [index, body] of encryptBatch(selected).entries()) {
        const { message, headers } = selected[index]!;
        if (body instanceof DeskbellError) {
          record(message, { kind: 'notSendable', fault: { reason: 'bad-encryption', detail: body.message } });
          continue;
        }
        const { origin } = message.destination;
        const request = { origin, path: pathOf(message.recipient.endpoint), headers, body };
        const done = (result: TransportResult): void => {
          if (result.kind === 'response') clockCheck.look(origin, result.response, now());
          record(message, result);
        };
        posted.push(message);
        message.sending = transport.send(request, done, timeLeft(message));
      }
      return posted;
    },

    /** Reports the state of push services to the store, if there is one. @returns a function that ends the reports */
    startReport: (kind: SenderReport['kind']) =>
      store && startSenderReport(store.senders, transport, { kind, subject: vapid.subject }, clockCheck),
  };
}
