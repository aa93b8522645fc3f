// The path of push messages, which single messages and broadcasts share:
//
//   select ─▶ encrypt a batch ─▶ post ─▶ record
//
// The first three steps are here. The caller records the result.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { EncryptBatch, MessageToEncrypt } from '../../protocol/message-encryption.ts';
import type { Outcome, PushResponse } from '../../protocol/outcome.ts';
import type { PushOptions } from '../../protocol/request.ts';
import type { SenderReport } from '../../store/sending.ts';
import type { Store } from '../../store/store.ts';
import { systemClock } from '../../transport/clock.ts';
import { createTransport, type TransportRules } from '../../transport/create-transport.ts';
import type { PushHeaders, PushRequest, Sending, TransportResult } from '../../transport/transport.ts';
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

interface Selected extends MessageToEncrypt {
  readonly origin: string;
  readonly path: string;
  readonly headers: PushHeaders;
}

/** @throws {DeskbellError} ERR_MESSAGE_INVALID if the options are wrong and were not checked before */
function select<Message extends PushMessage>(message: Message, admit: Admit<Message>): Selected | NotSent {
  const { recipient, destination, payload, options } = message;
  const { notListed } = destination;
  if (notListed !== undefined) return { kind: 'notListed', detail: notListed };
  if (destination.notSendable !== undefined) return { kind: 'notSendable', fault: destination.notSendable };
  const notNow = admit(message);
  if (notNow !== undefined) return notNow;
  return {
    origin: destination.origin,
    path: pathOf(recipient.endpoint),
    headers: destination.headersFor(options),
    plaintext: payload,
    subscription: recipient,
  };
}

/**
 * Encrypts messages, each with its own key pair. If a subscription's key is invalid, only its own message fails.
 *
 * @returns one entry for each message, in order
 */
function encrypt(
  messages: readonly Selected[],
  encryptBatch: EncryptBatch,
): readonly (PushRequest | NotSent)[] {
  const bodies = encryptBatch(messages);
  return messages.map(({ origin, path, headers }, index) => {
    const body = bodies[index]!;
    return body instanceof DeskbellError
      ? { kind: 'notSendable', fault: { reason: 'bad-encryption', detail: body.message } }
      : { origin, path, headers, body };
  });
}

export type MessagePath = ReturnType<typeof openMessagePath>;

/**
 * Opens a message path with its own connections. It uses the store's clock if there is a store.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION
 */
export function openMessagePath(
  settings: DeliverySettings,
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
      const chosen: Message[] = [];
      const selected: Selected[] = [];
      for (const message of messages) {
        const selection = select(message, admit);
        if ('kind' in selection) record(message, selection);
        else {
          chosen.push(message);
          selected.push(selection);
        }
      }
      const posted: Message[] = [];
      for (const [index, request] of encrypt(selected, encryptBatch).entries()) {
        const message = chosen[index]!;
        if ('kind' in request) record(message, request);
        else {
          const done = (result: TransportResult): void => {
            if (result.kind === 'response') clockCheck.look(request.origin, result.response, now());
            record(message, result);
          };
          posted.push(message);
          message.sending = transport.send(request, done, timeLeft(message));
        }
      }
      return posted;
    },

    /** Reports the state of push services to the store, if there is one. @returns a function that ends the reports */
    startReport: (kind: SenderReport['kind']) =>
      store && startSenderReport(store.senders, transport, { kind, subject: vapid.subject }, clockCheck),
  };
}
