// Text for names and labels: every database can store it, and it shows as it is.

/** Control characters, for use inside [ ] of a regular expression. */
export const controls = String.raw`\x00-\x1f\x7f-\x9f`;

export const plainTextPattern = `^[^${controls}]*$`;

/**
 * True for well-formed Unicode without control characters (C0, DEL, C1). PostgreSQL stores neither NUL nor lone
 * surrogates.
 */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);
