/** @returns undefined if a "%" does not begin percent-encoded UTF-8 (RFC 3986 §2.1) */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
