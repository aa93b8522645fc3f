// The first two steps of a message's path: whether it is sent now, where to and signed with which key; then the bodies of messages that are
// posted together.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { EncryptBatch, MessageToEncrypt } from '../../protocol/message-encryption.ts';
import type { PushOptions } from '../../protocol/request.ts';
import type { PushHeaders, PushRequest, Sending } from '../../transport/transport.ts';
import type { NotSent } from '../limits/not-sent.ts';
import { type Addressee, type Destination, pathOf } from './destinations.ts';

/** One push message for one subscription. */
export interface PushMessage {
  readonly recipient: Addressee;
  readonly destination: Destination;
  readonly payload: Uint8Array;
  readonly options: PushOptions;
  /** When the answer is due, by the monotonic clock; without it only the transport's time limits apply. */
  readonly deadlineMs?: number | undefined;
  /** Set once it is posted. */
  sending?: Sending | undefined;
}

/** Asked before any work on a message. @returns `undefined` if it may be sent */
export type Admit<Message extends PushMessage> = (message: Message) => NotSent | undefined;

export interface Selected extends MessageToEncrypt {
  readonly origin: string;
  readonly path: string;
  readonly headers: PushHeaders;
}

/** @throws {DeskbellError} ERR_MESSAGE_INVALID if the options were not checked before */
export function select<Message extends PushMessage>(
  message: Message,
  admit: Admit<Message>,
): Selected | NotSent {
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
 * Encrypts messages, each with its own key pair. A stored key that is not a curve point refuses only its own message.
 *
 * @returns one entry for each message, in order
 */
export function encrypt(
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
