// The payload of a push message: what the service worker receives and shows.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { typeOf } from './check-arguments.ts';
import { maxPlaintextBytes } from './encryption.ts';

/** The notification to be shown. Further members are sent as they are. */
export interface Message {
  readonly title: string;
  /** Body text of the notification. */
  readonly message: string;
  readonly [further: string]: unknown;
}

/**
 * Encodes a message as a payload: the UTF-8 bytes of its JSON text, `title` and `message` first.
 *
 * @returns at most 3993 bytes
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function encodePayload(message: Message): Uint8Array {
  if (typeof message !== 'object' || message === null) {
    throw new DeskbellError('ERR_MESSAGE_INVALID', 'The message must be an object with title and message.');
  }
  const { title, message: text, ...further } = message;
  checkText('title', title);
  checkText('message', text);
  const payload = Buffer.from(toJson({ title, message: text, ...further }));
  if (payload.length > maxPlaintextBytes) {
    throw new DeskbellError(
      'ERR_PAYLOAD_TOO_LARGE',
      `The payload has ${payload.length} bytes of UTF-8; at most ${maxPlaintextBytes} fit into one push message. Shorten the message.`,
    );
  }
  return payload;
}

function checkText(name: string, value: unknown): void {
  if (typeof value === 'string') return;
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The ${name} of the message must be a string, not ${typeOf(value)}.`,
  );
}

function toJson(message: Message): string {
  try {
    return JSON.stringify(message);
  } catch (cause) {
    throw new DeskbellError('ERR_MESSAGE_INVALID', 'The message cannot be written as JSON.', { cause });
  }
}
