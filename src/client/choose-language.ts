// The languages (BCP 47) of the element and the preferences page. The types of the texts require all of them.
const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ja', 'zh-Hans', 'ar'] as const;

export type Language = (typeof languages)[number];

/** @param wanted language tags (BCP 47), the preferred one first */
export function chooseLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const subtag = tag.split('-')[0]!.toLowerCase();
    const known = languages.find((name) => name === (subtag === 'zh' ? 'zh-Hans' : subtag));
    if (known) return known;
  }
  return 'en';
}

export const directionOf = (language: Language): 'ltr' | 'rtl' => (language === 'ar' ? 'rtl' : 'ltr');
