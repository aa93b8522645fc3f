// Percent-encoding in what people write: a stray "%" is a fault of theirs, not of ours.

/** @returns the text, or undefined where a "%" in it begins no percent-encoded UTF-8 (RFC 3986 §2.1) */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
