// Cutting text of strangers. What a slice leaves of a pair of surrogates is not Unicode any more, and PostgreSQL refuses it.

/**
 * The text itself, or its beginning and "…".
 *
 * @param maxCharacters of the result, in UTF-16 code units. No character beyond U+FFFF is cut in two
 */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
