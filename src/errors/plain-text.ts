// What a text must be where it is a name or a label: every database stores it, and it shows as it is.

/** Whether it is well-formed Unicode without control characters (C0, DEL, C1); PostgreSQL has no NUL and no lone surrogate. */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);
