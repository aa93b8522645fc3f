// Announces changes of the page to screen readers as sentences, even after a reload.

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

/** Adds a line: a screen reader may not announce text that replaces other text. */
export function announce(text: string): void {
  place ??= document.querySelector('[data-announcements]') ?? undefined;
  if (place === undefined) return;
  const line = document.createElement('p');
  line.textContent = text;
  place.append(line);
  if (place.childElementCount > maxLines) place.firstElementChild!.remove();
}

// When a form has been sent, its button says so until the response arrives. Screen readers announce this too.

const patienceMs = 500;

export function showBusyForms(): void {
  document.addEventListener('submit', ({ submitter }) => {
    const timer = setTimeout(() => {
      submitter?.setAttribute('aria-busy', 'true');
      announce('Working …');
    }, patienceMs);
    // the browser may later show the page again from its history
    addEventListener('pagehide', () => {
      clearTimeout(timer);
      submitter?.removeAttribute('aria-busy');
    });
  });
}
