// What a text must be where it is a name or a label: every database stores it, and it shows as it is.

/** A class of characters, without its brackets: the control characters. */
export const controls = String.raw`\x00-\x1f\x7f-\x9f`;

/** Of text without them. */
export const plainTextPattern = `^[^${controls}]*$`;

/** Whether it is well-formed Unicode without control characters (C0, DEL, C1); PostgreSQL has no NUL and no lone surrogate. */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);
