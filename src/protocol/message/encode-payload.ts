// Encodes a message as the payload that the service worker receives and shows. Refuses a payload that is too large.
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

/** The payloads of a message as they are stored, before placeholders are filled in. */
export interface EncodedMessage {
  /** The payload of the message without its translations. */
  readonly payload: Uint8Array;
  /** Payloads in other languages by canonical BCP 47 tag, sorted by tag. `chooseLanguage` takes this map. */
  readonly texts: ReadonlyMap<string, Uint8Array>;
  /** The placeholders in all texts, for `createTemplate` to fill in. If there are none, payloads are sent unchanged. */
  readonly placeholders: readonly Placeholder[];
}

/**
 * Encodes a message in all of its languages.
 *
 * @returns payloads that fit into a push message if their placeholders have the default values
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE; they name the language, such as `texts.de.title`
 */
export function encodeMessage(
  message: Message,
  options: PayloadOptions = {},
  createId: () => string = randomId,
): EncodedMessage {
  const measured = encodeTexts(message, options, createId);
  const [own, ...others] = measured;
  return {
    payload: own!.payload,
    texts: new Map(others.map(({ localized, payload }) => [localized.language!, payload])),
    placeholders: uniquePlaceholders(measured.flatMap(({ template }) => template?.placeholders ?? [])),
  };
}

/**
 * Measures a message in all languages. Throws if a text does not fit.
 *
 * @throws {DeskbellError} the same errors as `encodeMessage`
 */
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

/** The reader of a message. `language` chooses the text, and `data` fills in the text's placeholders. */
export interface MessageReader {
  /** A canonical BCP 47 tag. */
  readonly language?: string | undefined;
  readonly data?: ReaderData | undefined;
}

/** True if the payload depends on its reader. */
export const isForReaders = (message: Message): boolean =>
  message?.texts !== undefined || message?.placeholders === true;

/**
 * Encodes a message for individual readers.
 *
 * @returns a function that makes the payload for a reader, and throws the errors of `Template.fill`
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
 * Encodes a message, without its translations, as a payload. The payload is UTF-8 JSON. The JSON begins with `title`
 * and `message`, and contains other fields only if the message has them. With `tag: null`, the payload gets a unique
 * tag. With `renotify`, the payload gets an `id`, so that a receiver can recognise a message that arrives twice.
 *
 * @example
 * const payload = encodePayload({ title: 'Hello', message: 'Backups are done' });
 * @param createId default: 16 random base64url characters
 * @param options `isWithReceipts`: leave room for the token of receipts (`receipt-token.ts`); `channel`: the
 *   broadcast's channel
 * @returns at most 3993 bytes if placeholders have their default values
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE
 */
export function encodePayload(
  message: Message,
  createId: () => string = randomId,
  options: PayloadOptions = {},
): Uint8Array {
  return encodeTexts(message, options, createId)[0]!.payload;
}

/**
 * Hashes a message's content, including `placeholders` and the texts in other languages. Equal messages have equal
 * hashes, even if their tags and IDs are generated.
 *
 * @param options the options with which the message's payloads are encoded
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
 * Checks a payload that the caller made.
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

/** Lists members by size, such as "message (3951 bytes), texts.de.title (12)". */
const largestFirst = (sizes: ReturnType<typeof memberSizes>): string =>
  sizes.map(({ member, bytes }, index) => `${member} (${bytes}${index === 0 ? ' bytes' : ''})`).join(', ');
