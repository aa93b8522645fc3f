// Keeps parts of the page up to date. If that fails, the page says why and how old its figures are, and tries again.
import { announce, announceStatus } from './announcements.ts';
import { enableCharts, readAgain } from './charts.ts';
import { localText, showLocalTimes } from './local-times.ts';

type State = 'live' | 'lost' | 'unread' | 'ended';

const reasons: Readonly<Record<Exclude<State, 'live'>, string>> = {
  lost: 'Connection lost.',
  unread: 'The server cannot read its figures at present.',
  ended: 'Your session has ended.',
};

/** How long requests may fail before the page says so, since a server may just be starting again. */
const lostAfterMs = 3000;
/** A request ends after this time without an answer. */
const silentMs = 10_000;
const everyMs = 1000;

interface Answer {
  /** Tells the server in the next request which parts this page has. */
  readonly seen: string;
  readonly atMs: number;
  readonly status: readonly string[];
  readonly parts: Readonly<Record<string, string>>;
}

export function followLive(url: string): void {
  const asOf = document.querySelector('[data-as-of]')!;
  const notice = document.querySelector<HTMLElement>('[data-stale]')!;
  let figuresOf = new Date(asOf.querySelector('time')!.dateTime);
  let state: State | undefined;
  let seen = '';
  let heardAt = performance.now();
  /** New content that is not shown yet, because replacing a control would take the focus from it. */
  const waiting = new Map<Element, string>();

  const show = (next: State): void => {
    if (next === state) return;
    const wasLive = state === undefined || state === 'live';
    state = next;
    notice.hidden = next === 'live';
    asOf.classList.toggle('is-live', next === 'live');
    if (next === 'live') {
      asOf.textContent = 'Live';
      if (!wasLive) announce('Connected again.');
      return;
    }
    const text = `${reasons[next]} Figures of ${localText(figuresOf, true)}.`;
    asOf.textContent = `Figures of ${localText(figuresOf, true)}`;
    notice.replaceChildren(text);
    if (next === 'ended') notice.append(' ', signInLink());
    announce(text);
  };

  const ask = async (): Promise<State> => {
    const response = await fetch(url, {
      redirect: 'manual',
      cache: 'no-store',
      headers: { 'deskbell-seen': seen },
      signal: AbortSignal.timeout(silentMs),
    });
    if (response.type === 'opaqueredirect') return 'ended';
    if (response.status === 500 || response.status === 503) return 'unread';
    if (!response.ok) return 'lost';
    const answer = (await response.json()) as Answer;
    for (const [id, content] of Object.entries(answer.parts)) {
      const part = document.getElementById(id);
      if (part) update(part, content);
    }
    seen = answer.seen;
    figuresOf = new Date(answer.atMs);
    show('live');
    announceStatus(answer.status);
    return 'live';
  };

  const follow = async (): Promise<void> => {
    const next = await ask().catch(() => 'lost' as const);
    if (next !== 'lost') heardAt = performance.now();
    if (next !== 'lost' || performance.now() - heardAt > lostAfterMs) show(next);
    setTimeout(() => void follow(), everyMs);
  };

  const update = (part: Element, content: string): void => {
    const wanted = document.createElement('template');
    wanted.innerHTML = content;
    showLocalTimes(wanted.content);
    enableCharts(wanted.content);
    if (keepsFocus(part, wanted.content)) {
      waiting.delete(part);
      patch(part, wanted.content);
      readAgain();
    } else waiting.set(part, content);
  };

  document.addEventListener('focusout', () => {
    // wait until the focus has moved to another control
    setTimeout(() => {
      for (const [part, content] of waiting) update(part, content);
    });
  });

  void follow();
}

function signInLink(): HTMLAnchorElement {
  const link = document.createElement('a');
  link.href = `/console/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`;
  link.textContent = 'Sign in';
  return link;
}

// Changes only nodes that differ, so that focus, selection, open details and scroll positions are kept.

function patch(place: Node, wanted: Node): void {
  const present = [...place.childNodes];
  const next = [...wanted.childNodes];
  for (const [index, node] of next.entries()) {
    const old = present[index];
    if (old === undefined) place.appendChild(node);
    else if (old instanceof Element && node instanceof Element && old.nodeName === node.nodeName) {
      patchAttributes(old, node);
      patch(old, node);
    } else if (!old.isEqualNode(node)) old.replaceWith(node);
  }
  for (const old of present.slice(next.length)) old.remove();
}

function patchAttributes(old: Element, wanted: Element): void {
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of old.getAttributeNames()) {
    // `open` means that the reader has opened the details
    const isReaders = name === 'open' && old.nodeName === 'DETAILS';
    if (!wanted.hasAttribute(name) && !isReaders) old.removeAttribute(name);
  }
}

/** True unless replacing the content would change the control that has the focus. */
function keepsFocus(place: Element, wanted: Node): boolean {
  const focused = document.activeElement;
  if (focused === null || focused === place || !place.contains(focused)) return true;
  let [old, next]: [Node, Node | undefined] = [place, wanted];
  while (old !== focused && next !== undefined) {
    const index: number = [...old.childNodes].findIndex((node) => node.contains(focused));
    [old, next] = [old.childNodes[index]!, next.childNodes[index]];
  }
  if (!focused.matches('a, button, input, select, textarea')) return next?.nodeName === focused.nodeName;
  const form = focused.closest('form');
  return (
    next instanceof Element && focused.isEqualNode(next) && form?.action === next.closest('form')?.action
  );
}
