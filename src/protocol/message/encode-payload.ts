// The payload of a push message: what the service worker receives and shows. A payload that is too large is refused.
import { createHash } from 'node:crypto';
import { checkOptions, isFlag, isText, type OptionChecks, typeOf } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { maxPlaintextBytes } from '../message-encryption.ts';
import { chooseLanguage } from '../language.ts';
import {
  measureMessage,
  memberSizes,
  randomId,
  type MeasuredText,
  type PayloadOptions,
} from './measure-message.ts';
import { memberError } from './value-schema.ts';
import type { Message } from './message.ts';
import { type Placeholder, type ReaderData, uniquePlaceholders } from './placeholders.ts';
import { receiptMemberBytes } from './receipt-token.ts';

const payloadChecks: OptionChecks<PayloadOptions> = { isWithReceipts: isFlag, channel: isText };

/** The payloads of a message as they are stored: placeholders are not filled in. */
export interface EncodedMessage {
  /** The message's own text. */
  readonly payload: Uint8Array;
  /** By canonical BCP 47 tag, for `chooseLanguage`; in the order of the tags. */
  readonly texts: ReadonlyMap<string, Uint8Array>;
  /** The placeholders of all texts. Without any, payloads are sent as they are; otherwise `createTemplate` fills them. */
  readonly placeholders: readonly Placeholder[];
}

/**
 * Encodes a message in all of its languages.
 *
 * @returns payloads that fit into a push message, with the defaults of their placeholders
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE; they name the language, such as `texts.de.title`
 */
export function encodeMessage(
  message: Message,
  options: PayloadOptions = {},
  createId: () => string = randomId,
): EncodedMessage {
  const [own, ...others] = encodeTexts(message, options, createId);
  return {
    payload: own!.payload,
    texts: new Map(others.map(({ localized, payload }) => [localized.language!, payload])),
    placeholders: placeholdersIn([own!, ...others]),
  };
}

/** Measures a message and refuses what does not fit. @throws {DeskbellError} as `encodeMessage` */
function encodeTexts(
  message: Message,
  options: PayloadOptions,
  createId: () => string,
): readonly MeasuredText[] {
  checkOptions(options, payloadChecks, { code: 'ERR_MESSAGE_INVALID' });
  const { isWithReceipts = false } = options;
  const measured = measureMessage(message, options, createId);
  for (const { localized, bytes, maxBytes } of measured) {
    if (bytes <= maxBytes) continue;
    const sizes = memberSizes(localized);
    throw memberError(
      'ERR_PAYLOAD_TOO_LARGE',
      sizes[0]!.member,
      `The payload ${localized.language === undefined ? '' : `in ${localized.language} `}has ${bytes} bytes of UTF-8` +
        `${message.placeholders ? ' with the defaults of its placeholders' : ''}; at most ${maxBytes} fit into one push message` +
        `${isWithReceipts ? ` with the ${receiptMemberBytes} of its receipt token` : ''}. ` +
        `Shorten ${largestFirst(sizes)}.` +
        (message.declarative ? ' The declarative form has title and message twice.' : ''),
    );
  }
  return measured;
}

/** The facts about a reader that a message depends on. */
export interface MessageReader {
  /** A canonical BCP 47 tag. */
  readonly language?: string | undefined;
  readonly data?: ReaderData | undefined;
}

/** Whether the payload depends on its reader. */
export const isForReaders = (message: Message): boolean =>
  message?.texts !== undefined || message?.placeholders === true;

/**
 * Encodes a message for individual readers.
 *
 * @returns a function that makes the payload for a reader, and throws what `Template.fill` throws
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function encodeForReaders(message: Message): (reader: MessageReader) => Uint8Array {
  const texts = new Map(encodeTexts(message, {}, randomId).map((text) => [text.localized.language, text]));
  return ({ language, data = {} }) => {
    const { template, payload } = texts.get(chooseLanguage(language, texts))!;
    return template?.fill(data) ?? payload;
  };
}

/**
 * Encodes a message as a payload: the UTF-8 bytes of its JSON text, `title` and `message` first, and nothing else where
 * these are all. A message with `tag: null` gets an ID as its tag, one with `renotify` a member `id`, so that whoever
 * receives the same payload twice can tell. Of a message with texts in other languages it is the payload of its own text.
 *
 * @example
 * const payload = encodePayload({ title: 'Hello', message: 'Backups are done' });
 * @param createId by default 16 random characters of base64url
 * @param options `isWithReceipts`: leaves room for the token of receipts (`receipt-token.ts`); `channel`: of the broadcast
 * @returns at most 3993 bytes, with the defaults of its placeholders
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function encodePayload(
  message: Message,
  createId: () => string = randomId,
  options: PayloadOptions = {},
): Uint8Array {
  return encodeTexts(message, options, createId)[0]!.payload;
}

const placeholdersIn = (texts: readonly MeasuredText[]): readonly Placeholder[] =>
  uniquePlaceholders(texts.flatMap(({ template }) => template?.placeholders ?? []));

/**
 * The hash of a message's content, equal for equal messages although tag and ID differ. The content hash of a broadcast uses it, because
 * languages and `placeholders` are not part of the payload of its own text.
 *
 * @param options as for the payloads
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function hashMessage(message: Message, options: PayloadOptions = {}): Uint8Array {
  const { payload, texts } = encodeMessage(message, options, () => '');
  const hash = createHash('sha256').update(payload);
  if (message.placeholders) hash.update('\nplaceholders');
  for (const [language, text] of texts) hash.update(`\n${language}\n`).update(text);
  return hash.digest();
}

/**
 * Checks a payload made by the caller.
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

/** Such as "message (3951 bytes), texts.de.title (12)". */
const largestFirst = (sizes: ReturnType<typeof memberSizes>): string =>
  sizes.map(({ member, bytes }, index) => `${member} (${bytes}${index === 0 ? ' bytes' : ''})`).join(', ');
