// Language tags (BCP 47): in which language something is.

/** RFC 5646 §4.4.1 */
export const maxLanguageCharacters = 35;

/** @returns the tag in its one spelling, undefined for what is none */
export function readLanguage(language: unknown): string | undefined {
  if (typeof language !== 'string' || language.length > maxLanguageCharacters) return undefined;
  try {
    return Intl.getCanonicalLocales(language)[0];
  } catch {
    return undefined;
  }
}
