// Escapes, shortens or hides untrusted text, and text that may contain secrets, before it is printed or stored.

/**
 * Controls (C0, DEL, C1), format characters (bidirectional, zero width, tags), line and paragraph separators, and lone
 * surrogates (Unicode categories Cc, Cf, Zl, Zp, Cs).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const plainAscii = /^[\x20-\x7e]*$/;
/** Does not match joiners and direction marks, which Persian and emoji need. */
const unsafeInProse = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;

/** Uses JSON's escapes, such as `\u009b`, so JSON text keeps its meaning. */
export function escapeControls(text: string): string {
  return plainAscii.test(text) ? text : text.replaceAll(unsafe, toEscapes);
}

/** Escapes controls and direction overrides in text for people. Show the result in an element such as `<bdi>`. */
export const escapeProse = (text: string): string => text.replaceAll(unsafeInProse, toEscapes);

function toEscapes(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16);
    return String.raw`\u${unit.padStart(4, '0')}`;
  }).join('');
}

/** Shortens text to `maxCharacters` UTF-16 code units without splitting a surrogate pair, which PostgreSQL refuses. */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Control characters, for use inside [ ] of a regular expression. */
export const controls = String.raw`\x00-\x1f\x7f-\x9f`;

export const plainTextPattern = `^[^${controls}]*$`;

/** True for well-formed Unicode without control characters. PostgreSQL stores neither NUL nor lone surrogates. */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);

/** @returns undefined if a "%" does not begin percent-encoded UTF-8 (RFC 3986 §2.1) */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

// Hides passwords in URLs of printed text, even in URLs that do not parse. When in doubt, hides too much.

const hidden = '***';
const example = /^\[?user:password$/;

/** Replaces the passwords in URLs with stars: `postgres://ada:***@host/push`. */
export function hidePasswords(text: string): string {
  if (!/@|password=/i.test(text)) return text;
  return text.replaceAll(/\S+/g, hideInWord);
}

function hideInWord(word: string): string {
  const shown = word.replaceAll(/([?&]password=)[^&"']*/gi, `$1${hidden}`);
  const scheme = /:[/\\]{2}/.exec(shown);
  const end = shown.lastIndexOf('@');
  if (scheme === null || end < scheme.index) return shown;
  const start = scheme.index + scheme[0].length;
  if (example.test(shown.slice(start, end))) return shown;
  const colon = shown.indexOf(':', start);
  const user = colon === -1 || colon > end ? '' : shown.slice(start, colon + 1);
  return shown.slice(0, start) + user + hidden + shown.slice(end);
}

/** A regular expression for a bell's secret. Clients send the secret as an ntfy topic or a Gotify token. */
export const bellSecretForm = String.raw`A[\w-]{14}`;

/** Also matches mistyped secrets (a character too many or too few), and every `auth` that a client of ntfy sends. */
const bellSecretInUrl = /(?<=[/=])A[\w-]{13,15}(?![\w-])|(?<=[?&](?:auth|authorization|token)=)[^&\s"]+/g;

/** Replaces bells' secrets in URLs, anywhere in a text. */
export const hideBellSecrets = (text: string): string => text.replaceAll(bellSecretInUrl, hidden);
