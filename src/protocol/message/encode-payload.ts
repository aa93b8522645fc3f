// The payload of a push message: what the service worker receives and shows.
import { randomBytes } from 'node:crypto';
import { checkOptions, isFlag, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { typeOf } from '../../errors/type-of.ts';
import { maxPlaintextBytes } from '../message-encryption.ts';
import { actionName, checkMessage } from './check-message.ts';
import { checkDeclarative, toDeclarativeForm } from './declarative-form.ts';
import type { Message } from './message.ts';
import { receiptMemberBytes } from './receipt-token.ts';

interface PayloadOptions {
  readonly isWithReceipts?: boolean;
}

const payloadChecks: OptionChecks<PayloadOptions> = { isWithReceipts: isFlag };

/**
 * Encodes a message as a payload: the UTF-8 bytes of its JSON text, `title` and `message` first, and nothing else where
 * these are all. A message with `tag: null` gets an ID as its tag, one with `renotify` a member `id`, so that whoever
 * receives the same payload twice can tell.
 *
 * @example
 * const payload = encodePayload({ title: 'Hello', message: 'Backups are done' });
 * @param createId by default 16 random characters of base64url
 * @param options `isWithReceipts`: leaves room for the token of receipts (`receipt-token.ts`)
 * @returns at most 3993 bytes
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function encodePayload(
  message: Message,
  createId: () => string = randomId,
  options: PayloadOptions = {},
): Uint8Array {
  checkOptions(options, payloadChecks, { code: 'ERR_MESSAGE_INVALID' });
  const { isWithReceipts = false } = options;
  const { payload, maxBytes } = measurePayload(message, options, createId);
  if (payload.length > maxBytes) {
    throw new DeskbellError(
      'ERR_PAYLOAD_TOO_LARGE',
      `The payload has ${payload.length} bytes of UTF-8; at most ${maxBytes} fit into one push message` +
        `${isWithReceipts ? ` with the ${receiptMemberBytes} of its receipt token` : ''}. ` +
        `Shorten ${largestFirst(message)}.` +
        (message.declarative ? ' The declarative form has title and message twice.' : ''),
    );
  }
  return payload;
}

/**
 * The payload of a message, however large it is, and how many bytes it may have.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function measurePayload(
  message: Message,
  { isWithReceipts = false }: PayloadOptions = {},
  createId: () => string = randomId,
): { readonly payload: Uint8Array; readonly maxBytes: number } {
  checkMessage(message);
  checkDeclarative(message);
  const { title, message: text, declarative, mutable, ...further } = message;
  const whole = { title, message: text, ...complete(further, createId) };
  const payload = Buffer.from(toJson(declarative ? toDeclarativeForm(whole, mutable) : whole));
  return { payload, maxBytes: maxPlaintextBytes - (isWithReceipts ? receiptMemberBytes : 0) };
}

/**
 * Checks a payload that the caller has made.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function checkPayload(payload: Uint8Array): void {
  if (!(payload instanceof Uint8Array)) {
    throw new DeskbellError(
      'ERR_MESSAGE_INVALID',
      `The payload is of type ${typeOf(payload)}; give a Uint8Array, such as Buffer.from(text).`,
    );
  }
  if (payload.length <= maxPlaintextBytes) return;
  throw new DeskbellError(
    'ERR_PAYLOAD_TOO_LARGE',
    `The payload has ${payload.length} bytes; at most ${maxPlaintextBytes} fit into one push message.`,
  );
}

const toJson = (value: unknown): string => JSON.stringify(value);

/** Adds what is fixed when the message is made: its ID, and the names of its actions. */
function complete(further: Omit<Message, 'title' | 'message'>, createId: () => string) {
  const { tag, actions, renotify } = further;
  const id = tag === null || renotify ? createId() : undefined;
  return {
    ...further,
    tag: tag === null ? id : tag,
    actions: actions?.map((action, index) => ({ ...action, action: actionName(action, index) })),
    id: renotify ? id : undefined,
  };
}

const randomId = (): string => randomBytes(12).toString('base64url');

/** The members that are given, with the bytes of their values, the largest first. */
export const memberSizes = (
  message: Message,
): readonly { readonly member: string; readonly bytes: number }[] =>
  Object.entries(message)
    .filter(([, value]) => value !== undefined)
    .map(([member, value]) => ({ member, bytes: Buffer.byteLength(toJson(value)) }))
    .toSorted((one, other) => other.bytes - one.bytes);

/** Such as "message (3951 bytes), title (12)". */
const largestFirst = (message: Message): string =>
  memberSizes(message)
    .map(({ member, bytes }, index) => `${member} (${bytes}${index === 0 ? ' bytes' : ''})`)
    .join(', ');
