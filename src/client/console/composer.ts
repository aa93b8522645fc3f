// The composer: the server's notes on the form, previews, and a test message to this browser. The browser's
// subscription is not stored.
import { subscribe } from '../subscription.ts';
import { defaultTimeoutMs } from '../time-limit.ts';
import { announce } from './announcements.ts';

/** Waits until typing pauses, so that screen readers are not interrupted at every keystroke. */
const pauseMs = 400;

export function startComposer(form: HTMLFormElement): void {
  let timer: number | undefined;
  const ask = createAsker(form);
  suggestFurtherTags(form);
  form.addEventListener('input', () => {
    showAudience(form);
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), pauseMs);
  });
  showAudience(form);
  // the server's errors stay beside their fields until something is typed
  void ask(shownFaults(form));
  const button = form.querySelector<HTMLButtonElement>('[data-send-to-me]')!;
  if (!('serviceWorker' in navigator && 'PushManager' in window && button.dataset['vapidKey'])) return;
  button.hidden = false;
  button.addEventListener('click', () => void sendToMe(form, button));
}

interface Draft {
  readonly notes: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<string, string>>;
  readonly previews?: string;
}

type Asker = (refused?: Draft['faults']) => Promise<void>;

/** Returns a function that asks the server about the form. Only the response to the latest question is shown. */
function createAsker(form: HTMLFormElement): Asker {
  let asking = new AbortController();
  let announced = '';
  return async (refused = {}) => {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const draft = await readDraft(form, signal);
    if (signal.aborted) return;
    const faults = { ...refused, ...draft.faults };
    showDraft(form, { ...draft, faults });
    const news = [...Object.values(faults), draft.notes['startAt'], draft.notes['recipients']];
    const text = news.filter(Boolean).join(' ');
    if (announced !== '' && text !== announced) announce(text);
    announced = text;
  };
}

const unknown = (why: string): Draft => ({
  notes: { size: `not known: ${why}`, recipients: `not known: ${why}` },
  faults: {},
});

/** If the request fails, size and recipients stay unknown until the next keystroke asks again. */
async function readDraft(form: HTMLFormElement, signal: AbortSignal): Promise<Draft> {
  try {
    const response = await fetch('/console/send/draft', { method: 'POST', body: bodyOf(form), signal });
    return response.ok ? ((await response.json()) as Draft) : unknown(refusalOf(response));
  } catch {
    return unknown('the server cannot be reached');
  }
}

const refusalOf = ({ status }: Response): string =>
  status === 401 || status === 403 ? 'your session has ended' : `the server answers ${status}`;

function showDraft(form: HTMLFormElement, { notes, faults, previews }: Draft): void {
  if (previews !== undefined) form.querySelector('[data-previews]')!.innerHTML = previews;
  for (const place of form.querySelectorAll<HTMLElement>('[data-note]'))
    place.textContent = notes[place.dataset['note']!] ?? '';
  for (const place of form.querySelectorAll<HTMLElement>('[data-fault]')) {
    const name = place.dataset['fault']!;
    place.textContent = faults[name] ?? '';
    const field = form.elements.namedItem(name) as HTMLElement;
    if (faults[name]) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  }
}

const shownFaults = (form: HTMLFormElement): Draft['faults'] =>
  Object.fromEntries(
    [...form.querySelectorAll<HTMLElement>('[data-fault]')].map((place) => [
      place.dataset['fault']!,
      place.textContent,
    ]),
  );

function showAudience(form: HTMLFormElement): void {
  const chosen = new FormData(form).get('audience');
  for (const field of form.querySelectorAll<HTMLElement>('[data-audience]')) {
    field.hidden = field.dataset['audience'] !== chosen;
  }
}

const bodyOf = (form: HTMLFormElement): URLSearchParams =>
  new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));

async function sendToMe(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const answer = form.querySelector('[data-answer]')!;
  button.disabled = true;
  answer.textContent = 'Sending …';
  try {
    const subscription = await subscribeHere(button.dataset['vapidKey']!);
    const body = bodyOf(form);
    body.set('subscription', JSON.stringify(subscription));
    const response = await fetch('/console/send/test', { method: 'POST', body });
    // the response to a faulty message is JSON; any other error is a page
    if (!response.ok && response.status !== 400) throw new Error(`${refusalOf(response)}.`);
    answer.textContent = ((await response.json()) as { readonly said: string }).said;
  } catch (error) {
    answer.textContent = `It was not sent: ${(error as Error).message}`;
  } finally {
    button.disabled = false;
  }
}

async function subscribeHere(vapidKey: string): Promise<PushSubscription> {
  if ((await Notification.requestPermission()) !== 'granted') {
    throw new Error('notifications are not allowed for this page; allow them in the address bar.');
  }
  await navigator.serviceWorker.register('/console/service-worker.js', { scope: '/console/' });
  const { pushManager } = await navigator.serviceWorker.ready;
  return subscribe(pushManager, vapidKey, defaultTimeoutMs);
}

/** A suggestion from a `datalist` replaces the whole value, so each suggestion begins with the tags already typed. */
function suggestFurtherTags(form: HTMLFormElement): void {
  const list = form.querySelector<HTMLDataListElement>('#tags')!;
  const tags = Array.from(list.options, ({ value, text }) => ({ value, text }));
  const suggest = ({ target }: Event): void => {
    const input = target as HTMLInputElement;
    if (input.list !== list) return;
    const before = input.dataset['tags'] === 'one' ? '' : input.value.replace(/[^\s,]*$/, '');
    // leave unchanged suggestions alone, because replacing them would close an open list
    if (list.dataset['before'] === before) return;
    list.dataset['before'] = before;
    const left = tags.filter(({ value }) => !before.split(/[\s,]+/).includes(value));
    list.replaceChildren(...left.map(({ value, text }) => new Option(before + text, before + value)));
  };
  form.addEventListener('focusin', suggest);
  form.addEventListener('input', suggest);
}
