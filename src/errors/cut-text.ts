// Shortens text without splitting a surrogate pair: PostgreSQL refuses a lone surrogate.

/** Returns the text, or its beginning and "…". @param maxCharacters limit for the result, in UTF-16 code units */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
