// Text of strangers on its way to a terminal or a log: characters that a terminal obeys, or that a reader does not see,
// are written as escapes. What is plain ASCII comes back as it is.

/**
 * Controls (C0, DEL, C1), format characters (bidirectional, zero width, tags), line and paragraph separators, and
 * lone surrogates (Unicode general categories Cc, Cf, Zl, Zp, Cs).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const plainAscii = /^[\x20-\x7e]*$/;
/** Of these, what prose does not need: joiners and marks of direction are part of how Persian and emoji are written. */
const unsafeInProse = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;

/** Escapes as in JSON: `\u009b`; JSON text keeps its meaning. */
export function escapeControls(text: string): string {
  return plainAscii.test(text) ? text : text.replaceAll(unsafe, toEscapes);
}

/**
 * Escapes the title or text of a message, which people read and nothing is told apart by: controls and characters that turn
 * further text around. Only for places that isolate its direction, such as `<bdi>`.
 */
export const escapeProse = (text: string): string => text.replaceAll(unsafeInProse, toEscapes);

function toEscapes(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16);
    return String.raw`\u${unit.padStart(4, '0')}`;
  }).join('');
}
