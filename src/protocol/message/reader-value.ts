// A value from the data of a person as it stands in a message: as text, whatever is in it, or as a part of a URL that can change
// neither its scheme nor its host nor leave its place in the path.

/** What the application knows of a person, by name. Anything but a text or a number is no value. */
export type ReaderData = Readonly<Record<string, unknown>>;

/** Needs nothing, not even to be escaped in JSON: as most values. */
const plainText = /^[!#-[\]-~][ !#-[\]-~]*$/;
const plainLink = /^[A-Za-z0-9_~-]+$/;
/** They would reorder the text around a value, or break its line. Joiners (U+200C, U+200D) are parts of words and emoji. */
const controls = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;
/** The blocks of right-to-left letters. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const [firstStrongIsolate, popDirectionalIsolate] = ['\u2068', '\u2069'];

/** @returns the value as it stands between the quotes of a JSON string; undefined where there is none to show */
export function toJsonText(value: unknown): string | undefined {
  if (typeof value === 'string' && plainText.test(value)) return value;
  const text = toCleanText(value);
  if (text === undefined) return undefined;
  return escapeJson(rightToLeft.test(text) ? firstStrongIsolate + text + popDirectionalIsolate : text);
}

/** @returns the value percent-encoded; undefined where there is none, or one that stands for a folder */
export function toLinkPart(value: unknown): string | undefined {
  if (typeof value === 'string' && plainLink.test(value)) return value;
  const text = toCleanText(value);
  return text === undefined || text === '.' || text === '..' ? undefined : encodeURIComponent(text);
}

export const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);

function toCleanText(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.toWellFormed().replaceAll(controls, '');
  return text.trim() === '' ? undefined : text;
}
