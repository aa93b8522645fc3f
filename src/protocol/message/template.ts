// A payload with placeholders: read once, then filled in for each of its readers.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { maxPlaintextBytes } from '../message-encryption.ts';
import { memberError } from './message-error.ts';
import { parseText, uniquePlaceholders, type Placeholder, type Slot } from './placeholders.ts';
import type { ReaderData } from './reader-value.ts';
import { toReceiptMember } from './receipt-token.ts';
import { lookUp } from '../../errors/look-up.ts';

export interface Template {
  /** In the order in which they stand in the payload. */
  readonly placeholders: readonly Placeholder[];
  /** Of the payload with the defaults, and nothing where there are none. */
  readonly minBytes: number;
  /**
   * The payload for one reader. Where the values do not fit into it, the defaults stand in their place.
   *
   * @param receipt the reader's token, where receipts are asked for
   * @returns at most 3993 bytes
   * @throws {DeskbellError} ERR_PLACEHOLDER_VALUE where there is neither a value nor a default; ERR_PAYLOAD_TOO_LARGE where values
   *   without default do not fit. Neither shows a value.
   */
  fill(data: ReaderData, receipt?: string): Uint8Array;
}

type Parts = readonly (string | Slot)[];
type NameOf = (member: string) => string;

/** The texts of a payload that may have placeholders, in either form, and what they stand in. */
const textNames = new Set(['title', 'message', 'body']);
const linkNames = new Set(['url', 'navigate']);
const ownerNames = new Set(['notification', 'actions']);
/** The declarative form's names for members of a message. */
const declarativeNames: Readonly<Record<string, string>> = { body: 'message', navigate: 'url' };

/**
 * Reads a payload with placeholders.
 *
 * @param payload as `encodePayload` makes it of a message with `placeholders`
 * @param nameOf how errors name a member
 * @throws {DeskbellError} ERR_MESSAGE_INVALID where what stands in braces is no placeholder, or one in a URL could change its host
 */
export function createTemplate(payload: Uint8Array, nameOf: NameOf = (member) => member): Template {
  const whole = JSON.parse(Buffer.from(payload).toString()) as object;
  // without the last brace, before which a receipt's token has its place
  const parts = join(partsOf(whole, '', nameOf).slice(0, -1));
  const write = (valueOf: (slot: Slot) => string, receipt?: string): Buffer => {
    let json = '';
    for (const part of parts) json += typeof part === 'string' ? part : valueOf(part);
    return Buffer.from(`${json}${receipt === undefined ? '' : toReceiptMember(receipt)}}`);
  };
  return {
    placeholders: uniquePlaceholders(parts.filter((part) => typeof part !== 'string')),
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

/** As `JSON.stringify` would write it. */
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

/** With as few parts as possible. */
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
