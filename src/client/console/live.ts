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

/** The server sends events about once a second; the rest of this time is for reconnecting. */
const lostAfterMs = 3000;
/** A connection is closed after this time without data, even if it looks open. */
const silentMs = 10_000;
const retryMs = 2000;

export function followLive(url: string): void {
  const asOf = document.querySelector('[data-as-of]')!;
  const notice = document.querySelector<HTMLElement>('[data-stale]')!;
  let figuresOf = new Date(asOf.querySelector('time')!.dateTime);
  let state: State | undefined;
  let events: EventSource;
  let heardAt = performance.now();
  let triedAt = heardAt;
  let isRetrying = false;
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

  const connect = (): void => {
    triedAt = performance.now();
    events = new EventSource(url);
    const on = (name: string, take: (data: string) => void): void =>
      events.addEventListener(name, ({ data }: MessageEvent<string>) => {
        heardAt = performance.now();
        take(data);
      });
    on('message', (data) => {
      for (const [id, content] of Object.entries(JSON.parse(data) as Record<string, string>)) {
        const part = document.getElementById(id);
        if (part) update(part, content);
      }
    });
    on('read', (data) => {
      const { atMs, status } = JSON.parse(data) as { readonly atMs: number; readonly status: string[] };
      figuresOf = new Date(atMs);
      show('live');
      announceStatus(status);
    });
    on('unread', () => show('unread'));
    events.addEventListener('error', () => {
      if (events.readyState === EventSource.CLOSED) void retry();
    });
  };

  const retry = async (): Promise<void> => {
    if (isRetrying) return;
    isRetrying = true;
    events.close();
    const session = await askForSession();
    if (session === 'ended') show('ended');
    setTimeout(() => {
      isRetrying = false;
      if (session === 'there') connect();
      else void retry();
    }, retryMs);
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

  setInterval(() => {
    const now = performance.now();
    const limitMs = events.readyState === EventSource.OPEN ? silentMs : lostAfterMs;
    if (now - heardAt > limitMs && state !== 'ended') show('lost');
    if (now - Math.max(heardAt, triedAt) > silentMs) void retry();
  }, 500);
  connect();
}

async function askForSession(): Promise<'there' | 'ended' | 'unknown'> {
  try {
    const { type } = await fetch('/console/session', {
      redirect: 'manual',
      cache: 'no-store',
      signal: AbortSignal.timeout(silentMs),
    });
    return type === 'opaqueredirect' ? 'ended' : 'there';
  } catch {
    return 'unknown';
  }
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
