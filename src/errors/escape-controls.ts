// Escapes characters that a terminal obeys or a reader does not see, in other people's text for terminals and logs.

/**
 * Controls (C0, DEL, C1), format characters (bidirectional, zero width, tags), line and paragraph separators, and lone
 * surrogates (Unicode categories Cc, Cf, Zl, Zp, Cs).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const plainAscii = /^[\x20-\x7e]*$/;
/** Without joiners and direction marks, which Persian and emoji need. */
const unsafeInProse = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;

/** Uses JSON's escapes, such as `\u009b`, so JSON text keeps its meaning. */
export function escapeControls(text: string): string {
  return plainAscii.test(text) ? text : text.replaceAll(unsafe, toEscapes);
}

/**
 * Escapes controls and bidirectional overrides in a title or text for people. Use it only inside an element that
 * isolates direction, such as `<bdi>`.
 */
export const escapeProse = (text: string): string => text.replaceAll(unsafeInProse, toEscapes);

function toEscapes(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16);
    return String.raw`\u${unit.padStart(4, '0')}`;
  }).join('');
}
