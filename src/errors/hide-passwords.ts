// Hides passwords in URLs of printed text, even in URLs that do not parse. If in doubt it hides too much.

const hidden = '***';
/** The form of a URL in our own messages. */
const example = /^\[?user:password$/;

/** Replaces the password of each URL by stars: `postgres://ada:***@host/push`. */
export function hidePasswords(text: string): string {
  if (!/@|password=/i.test(text)) return text;
  // In a word, everything before the last "@" may be the password.
  return text.replaceAll(/\S+/g, hideInWord);
}

function hideInWord(word: string): string {
  const shown = word.replaceAll(/([?&]password=)[^&"']*/gi, `$1${hidden}`);
  const scheme = /:[/\\]{2}/.exec(shown);
  const end = shown.lastIndexOf('@');
  if (scheme === null || end < scheme.index) return shown;
  const start = scheme.index + scheme[0].length;
  if (example.test(shown.slice(start, end))) return shown;
  const colon = shown.indexOf(':', start);
  const user = colon === -1 || colon > end ? '' : shown.slice(start, colon + 1);
  return shown.slice(0, start) + user + hidden + shown.slice(end);
}
