// What changes, said once to who cannot see it. The page has sentences that are true now; one that was not true before is announced,
// also when the page was loaded again since a button was pressed.

const key = `status of ${location.pathname}`;
/** Of those that become true together; further ones are counted. */
const maxSentences = 3;
const maxLines = 10;

let place: Element | undefined;

export function announceStatus(sentences: readonly string[]): void {
  const before = sessionStorage.getItem(key);
  sessionStorage.setItem(key, JSON.stringify(sentences));
  if (before === null) return;
  const known = new Set(JSON.parse(before) as readonly string[]);
  const fresh = sentences.filter((sentence) => !known.has(sentence));
  const more = fresh.length - maxSentences;
  if (fresh.length > 0)
    announce([...fresh.slice(0, maxSentences), ...(more > 0 ? [`And ${more} more.`] : [])].join('. '));
}

/** Lines are added: one that took the place of another would be read instead of it. */
export function announce(text: string): void {
  place ??= document.querySelector('[data-announcements]') ?? undefined;
  // the page for signing in has none
  if (place === undefined) return;
  const line = document.createElement('p');
  line.textContent = text;
  place.append(line);
  if (place.childElementCount > maxLines) place.firstElementChild!.remove();
}
