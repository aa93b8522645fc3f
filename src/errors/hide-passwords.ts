// URLs in what is printed: of databases, proxies, webhooks. Each may hold a password, also one that is no usable URL; so what is
// looked at is text, and rather too much of it is hidden than too little.

const hidden = '***';
/** How messages of ours show the form of a URL. */
const example = /^\[?user:password$/;

/** The text with stars in place of each URL's password: `postgres://ada:***@host/push`. */
export function hidePasswords(text: string): string {
  // without one of these there is no password; a long text has many words
  if (!/@|password=/i.test(text)) return text;
  // A word has at most one URL that matters: whatever stands before its last "@" is taken for a password.
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
