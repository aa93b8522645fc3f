// Text of strangers on its way to a terminal or a log: characters that a terminal obeys, or that a reader does not see,
// are written as escapes. What is plain ASCII comes back as it is.

/**
 * Controls (C0, DEL, C1), format characters (bidirectional, zero width, tags), line and paragraph separators, and
 * lone surrogates (Unicode general categories Cc, Cf, Zl, Zp, Cs).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const plainAscii = /^[\x20-\x7e]*$/;

/** Escapes as in JSON: `\u009b`; JSON text keeps its meaning. */
export function escapeControls(text: string): string {
  return plainAscii.test(text) ? text : text.replaceAll(unsafe, toEscapes);
}

function toEscapes(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16);
    return String.raw`\u${unit.padStart(4, '0')}`;
  }).join('');
}
