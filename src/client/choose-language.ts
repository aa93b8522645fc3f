/**
 * Chooses a language for our own texts.
 *
 * @param wanted language tags (BCP 47), the preferred one first
 * @returns one of `known`, or `en`
 */
export function chooseLanguage(wanted: readonly string[], known: readonly string[]): string {
  for (const tag of wanted) {
    const language = tag.split('-')[0]!.toLowerCase();
    const name = language === 'zh' ? 'zh-Hans' : language;
    if (known.includes(name)) return name;
  }
  return 'en';
}
