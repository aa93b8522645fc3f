// The header field `Retry-After` (RFC 9110 §10.2.3).

/** Four weeks, the default TTL of a message: no `Retry-After` is worth more. */
const maxRetryAfterMs = 28 * 24 * 60 * 60 * 1000;

/**
 * Reads a `Retry-After`: seconds or an HTTP date.
 *
 * @returns at most four weeks; 0 for a date that has passed; `undefined` for none or nonsense
 */
export function readRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // The three forms of an HTTP date begin with the day's name; Date.parse alone takes almost anything for a date.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  // The oldest form names no zone, and means GMT all the same.
  const afterMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - nowMs;
  return Number.isNaN(afterMs) ? undefined : Math.min(Math.max(afterMs, 0), maxRetryAfterMs);
}
