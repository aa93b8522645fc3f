// Announces sentences about the page that have become true to screen readers, even after a reload.

const key = `status of ${location.pathname}`;
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

/** Adds a line: replaced text could be skipped by a screen reader. */
export function announce(text: string): void {
  place ??= document.querySelector('[data-announcements]') ?? undefined;
  if (place === undefined) return;
  const line = document.createElement('p');
  line.textContent = text;
  place.append(line);
  if (place.childElementCount > maxLines) place.firstElementChild!.remove();
}
