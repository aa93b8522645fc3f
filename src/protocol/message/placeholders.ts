// The syntax of placeholders: {name} and {name|default}, with {{ and }} for braces. No logic, no nesting.
import { messageError } from './message-error.ts';
import { escapeJson, toJsonText, toLinkPart } from './reader-value.ts';

/** Where a value of a person stands in a message. */
export interface Placeholder {
  readonly name: string;
  /** Such as `title` or `texts.de.actions[0].url`. */
  readonly member: string;
  readonly hasDefault: boolean;
}

/** Each once: the declarative form has texts twice, and languages share what they do not differ in. */
export const uniquePlaceholders = (placeholders: readonly Placeholder[]): readonly Placeholder[] => [
  ...new Map(
    placeholders.map(({ name, member, hasDefault }) => [
      `${name} ${member} ${hasDefault}`,
      { name, member, hasDefault },
    ]),
  ).values(),
];

/** A placeholder in JSON text. */
export interface Slot extends Placeholder {
  /** What stands there where there is no value; undefined where there is no default. */
  readonly fallback: string | undefined;
  /** @returns what to put there, escaped; undefined where the value is none to show */
  readonly encode: (value: unknown) => string | undefined;
}

/** The name of a value in the data of a person, as a regular expression. */
export const valueName = '[A-Za-z_][A-Za-z0-9_]{0,31}';
const tokens = new RegExp(String.raw`\{\{|\}\}|\{(${valueName})(?:\|([^{}]*))?\}|[{}]`, 'g');
/** A URL as far as scheme and host are settled, whatever comes behind it; or the same of one that is relative. */
const settledOrigin = /^(?:(?:https?:)?\/\/[^\s/?#\\]+|[^\s:/?#\\]*)[/?#](?![\s/\\])/i;

/**
 * Reads a text with placeholders.
 *
 * @param member where it stands, for errors
 * @returns what it is made of: JSON text without its quotes, and slots
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, which says where the fault is and what to write instead
 */
export function parseText(text: string, member: string, isLink: boolean): readonly (string | Slot)[] {
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
