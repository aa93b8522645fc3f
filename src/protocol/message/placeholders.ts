// Placeholders in messages: {name} and {name|default}, with {{ and }} for literal braces. There is no
// logic or nesting. This file parses them, fills them in for each reader, and escapes the values.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/check-options.ts';
import { maxPlaintextBytes } from '../message-encryption.ts';
import { memberError, messageError } from './value-schema.ts';
import { toReceiptMember } from './receipt-token.ts';

/** A placeholder in a message. Each reader sees a value from their own data instead. */
export interface Placeholder {
  readonly name: string;
  /** The member that contains the placeholder, such as `title` or `texts.de.actions[0].url`. */
  readonly member: string;
  readonly hasDefault: boolean;
}

/** Removes duplicates. The declarative form contains each text twice, and several languages can share a text. */
export const uniquePlaceholders = (placeholders: readonly Placeholder[]): readonly Placeholder[] => [
  ...new Map(
    placeholders.map(({ name, member, hasDefault }) => [
      `${name} ${member} ${hasDefault}`,
      { name, member, hasDefault },
    ]),
  ).values(),
];

/** A placeholder at its position in the JSON text. */
interface Slot extends Placeholder {
  /** The default value, or undefined. */
  readonly fallback: string | undefined;
  /** @returns the escaped value; undefined if the value cannot be shown */
  readonly encode: (value: unknown) => string | undefined;
}

/** Regular expression for names in a person's data. Placeholders use the same names. */
export const valueName = '[A-Za-z_][A-Za-z0-9_]{0,31}';
const tokens = new RegExp(String.raw`\{\{|\}\}|\{(${valueName})(?:\|([^{}]*))?\}|[{}]`, 'g');
/** Matches a relative URL, or a URL whose scheme and host can no longer change, whatever follows. */
const settledOrigin = /^(?:(?:https?:)?\/\/[^\s/?#\\]+|[^\s:/?#\\]*)[/?#](?![\s/\\])/i;

/**
 * Splits a text at its placeholders.
 *
 * @param member the text's name in errors
 * @returns the placeholders as slots, and the JSON text between them without quotes
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, with the position of the fault and what to write instead
 */
function parseText(text: string, member: string, isLink: boolean): readonly (string | Slot)[] {
  const parts: (string | Slot)[] = [];
  let end = 0;
  let literal = '';
  for (const { 0: token, 1: name, 2: fallback, index } of text.matchAll(tokens)) {
    literal += text.slice(end, index);
    end = index + token.length;
    if (token.length === 2 && name === undefined) {
      literal += token[0];
      continue;
    }
    const fault = `not usable: the brace at character ${index + 1} belongs to no placeholder`;
    if (name === undefined) throw messageError(member, fault, syntax);
    if (isLink) checkLink(text.slice(0, index), fallback, name, member);
    parts.push(escapeJson(literal), toSlot(name, fallback, member, isLink));
    literal = '';
  }
  return [...parts, escapeJson(literal + text.slice(end))];
}

const syntax =
  '{name} or {name|default}, with a name of at most 32 letters, digits and underscores that begins with no digit; or {{ or }} for a brace';

function toSlot(name: string, fallback: string | undefined, member: string, isLink: boolean): Slot {
  const encodeFallback = isLink ? encodeLink : escapeJson;
  return {
    name,
    member,
    hasDefault: fallback !== undefined,
    fallback: fallback === undefined ? undefined : encodeFallback(fallback),
    encode: isLink ? toLinkPart : toJsonText,
  };
}

const encodeLink = (text: string): string => encodeURIComponent(text.toWellFormed());

function checkLink(before: string, fallback: string | undefined, name: string, member: string): void {
  if (!settledOrigin.test(before)) {
    throw messageError(
      member,
      `not usable: {${name}} could change its scheme or host`,
      'a URL with the placeholder behind these, such as /orders/{order} or https://example.org/{path}',
    );
  }
  if (fallback === undefined || /[?#]/.test(before)) return;
  if (toLinkPart(fallback) === undefined)
    throw messageError(
      member,
      `not usable: the default of {${name}} is no part of a path`,
      'one that is not empty, "." or ".."',
    );
}

// A payload with placeholders. It is parsed once, and filled in for each reader.

export interface Template {
  /** All placeholders in the order of the payload. If a placeholder is repeated, so is its entry. */
  readonly placeholders: readonly Placeholder[];
  /** The payload's size with all defaults filled in. Placeholders without a default are left empty. */
  readonly minBytes: number;
  /**
   * Returns the payload for one reader. If the reader's values do not fit, the defaults are used.
   *
   * @param receipt the reader's token, if receipts are requested
   * @returns at most 3993 bytes
   * @throws {DeskbellError} ERR_PLACEHOLDER_VALUE if a placeholder has neither a value nor a default;
   *   ERR_PAYLOAD_TOO_LARGE if the values without a default do not fit. No error shows a value.
   */
  fill(data: ReaderData, receipt?: string): Uint8Array;
}

type Parts = readonly (string | Slot)[];
type NameOf = (member: string) => string;

/** Members that may have placeholders, in the plain and the declarative form. The `linkNames` among them are URLs. */
const textNames = new Set(['title', 'message', 'body']);
const linkNames = new Set(['url', 'navigate']);
const ownerNames = new Set(['notification', 'actions']);
/** Maps names of members in the Push API's declarative form to names in a message. */
const declarativeNames: Readonly<Record<string, string>> = { body: 'message', navigate: 'url' };

/**
 * Parses a payload with placeholders.
 *
 * @param payload from `encodePayload`, for a message with `placeholders`
 * @param nameOf returns the name of a member for errors
 * @throws {DeskbellError} ERR_MESSAGE_INVALID if braces contain anything other than a placeholder, or if a
 *   placeholder in a URL could change its host
 */
export function createTemplate(payload: Uint8Array, nameOf: NameOf = (member) => member): Template {
  const whole = JSON.parse(Buffer.from(payload).toString()) as object;
  // leave out the closing brace, so that the receipt's token can be inserted before it
  const parts = join(partsOf(whole, '', nameOf).slice(0, -1));
  const write = (valueOf: (slot: Slot) => string, receipt?: string): Buffer => {
    let json = '';
    for (const part of parts) json += typeof part === 'string' ? part : valueOf(part);
    return Buffer.from(`${json}${receipt === undefined ? '' : toReceiptMember(receipt)}}`);
  };
  return {
    placeholders: parts.filter((part) => typeof part !== 'string'),
    minBytes: write(({ fallback = '' }) => fallback).length,
    fill(data, receipt) {
      const valueOf = (slot: Slot) => slot.encode(lookUp(data, slot.name));
      const filled = write((slot) => valueOf(slot) ?? slot.fallback ?? refuseMissing(slot), receipt);
      if (filled.length <= maxPlaintextBytes) return filled;
      const shorter = write((slot) => slot.fallback ?? valueOf(slot) ?? refuseMissing(slot), receipt);
      if (shorter.length <= maxPlaintextBytes) return shorter;
      throw new DeskbellError(
        'ERR_PAYLOAD_TOO_LARGE',
        `With the reader's values the payload has ${shorter.length} bytes of UTF-8; at most ${maxPlaintextBytes} fit into one ` +
          'push message. Shorten the message, or give each placeholder a default.',
      );
    },
  };
}

/** Returns the text of `JSON.stringify`, split at the placeholders. */
function partsOf(owner: object, path: string, nameOf: NameOf): Parts {
  const isList = Array.isArray(owner);
  const members = Object.entries(owner).flatMap(([name, value]: readonly [string, unknown], index): Parts => {
    const before = (index === 0 ? '' : ',') + (isList ? '' : `${JSON.stringify(name)}:`);
    const isLink = linkNames.has(name);
    if (typeof value === 'string' && (isLink || textNames.has(name))) {
      const member = nameOf(path + (lookUp(declarativeNames, name) ?? name));
      return [`${before}"`, ...parseText(value, member, isLink), '"'];
    }
    if (!isList && !ownerNames.has(name)) return [before + JSON.stringify(value)];
    const inner = isList ? `actions[${name}].` : '';
    return [before, ...partsOf(value as object, inner, nameOf)];
  });
  return [isList ? '[' : '{', ...members, isList ? ']' : '}'];
}

/** Merges adjacent texts. */
function join(parts: Parts): Parts {
  const joined: (string | Slot)[] = [];
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    joined.push(text, part);
    text = '';
  }
  return [...joined, text];
}

function refuseMissing({ name, member }: Slot): never {
  throw memberError(
    'ERR_PLACEHOLDER_VALUE',
    member,
    `The placeholder {${name}} in ${member} of the message has no default, and its reader no such value; ` +
      `give a default, such as {${name}|there}, or set the value in the data of the person.`,
  );
}

// Escapes a person's value for a message. In a text, any value is allowed. In a URL, a value can neither change the
// scheme or the host nor leave its path segment.

/** A person's data by name. Values are texts and numbers. */
export type ReaderData = Readonly<Record<string, unknown>>;

/** Fast path for most values, which need no escaping, not even in JSON. */
const plainText = /^[!#-[\]-~][ !#-[\]-~]*$/;
const plainLink = /^[A-Za-z0-9_~-]+$/;
/**
 * Characters that would reorder the text around a value or break its line. Joiners (U+200C, U+200D) are kept, because
 * words and emoji need them.
 */
const controls = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;
/** Blocks of right-to-left letters. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const [firstStrongIsolate, popDirectionalIsolate] = ['\u2068', '\u2069'];

/** @returns the value as it appears inside a JSON string; undefined if the value is empty */
function toJsonText(value: unknown): string | undefined {
  if (typeof value === 'string' && plainText.test(value)) return value;
  const text = toCleanText(value);
  if (text === undefined) return undefined;
  return escapeJson(rightToLeft.test(text) ? firstStrongIsolate + text + popDirectionalIsolate : text);
}

/** @returns the percent-encoded value; undefined if there is no value, or if it would name a folder (`.` or `..`) */
function toLinkPart(value: unknown): string | undefined {
  if (typeof value === 'string' && plainLink.test(value)) return value;
  const text = toCleanText(value);
  return text === undefined || text === '.' || text === '..' ? undefined : encodeURIComponent(text);
}

const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);

function toCleanText(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.toWellFormed().replaceAll(controls, '');
  return text.trim() === '' ? undefined : text;
}
