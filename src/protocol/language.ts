// Reads language tags (BCP 47) and chooses the language of a message for its reader.

/** RFC 5646 §4.4.1: enough for any language tag. */
export const maxLanguageCharacters = 35;

/** @returns the canonical tag, or undefined if the text is not a language tag */
export function readLanguage(language: unknown): string | undefined {
  if (typeof language !== 'string' || language.length > maxLanguageCharacters) return undefined;
  try {
    return Intl.getCanonicalLocales(language)[0];
  } catch {
    return undefined;
  }
}

/**
 * Looks for the wanted language, then for the same language without script, region and other subtags (RFC 4647 §3.4).
 *
 * @param wanted a canonical BCP 47 tag; undefined if unknown
 * @param available a set or map of canonical tags
 * @returns undefined if no language fits; the message's own text is then used
 */
export function chooseLanguage(
  wanted: string | undefined,
  available: { has(language: string): boolean },
): string | undefined {
  let language = wanted ?? '';
  while (language !== '' && !available.has(language))
    language = language.slice(0, Math.max(language.lastIndexOf('-'), 0));
  return language || undefined;
}
