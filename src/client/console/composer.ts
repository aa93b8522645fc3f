// The composer: the server's notes on the form, previews, and a test message to this browser. The browser's
// subscription is not stored.
import { subscribe } from '../subscription.ts';
import { defaultTimeoutMs } from '../time-limit.ts';
import { announce } from './announcements.ts';

/** Waits until typing pauses, so that screen readers are not interrupted at every keystroke. */
const pauseMs = 400;

export function startComposer(form: HTMLFormElement): void {
  let timer: number | undefined;
  // only the server knows the texts for other languages and for stored data
  let isShownByServer = false;
  const ask = createAsker(form, ({ shown }) => {
    isShownByServer = shown !== undefined;
    showPreviews(form, shown);
  });
  const update = (): void => {
    if (!isShownByServer) showPreviews(form);
    showAudience(form);
  };
  startTagFields(form);
  form.addEventListener('input', () => {
    update();
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), pauseMs);
  });
  update();
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
  /** Values for the preview that replace the form's own values. */
  readonly shown?: Readonly<Record<string, string>>;
}

type Asker = (refused?: Draft['faults']) => Promise<void>;

/** Returns a function that asks the server about the form. Only the response to the latest question is shown. */
function createAsker(form: HTMLFormElement, onDraft: (draft: Draft) => void): Asker {
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
    onDraft(draft);
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

function showDraft(form: HTMLFormElement, { notes, faults }: Draft): void {
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

/** @param shown values to preview instead of the form's own */
function showPreviews(form: HTMLFormElement, shown: Readonly<Record<string, string>> = {}): void {
  const fields = new FormData(form);
  const given = (name: string): string => String(fields.get(name) ?? '');
  const text = (name: string): string => shown[name] ?? given(name);
  const places = (name: string) => form.querySelectorAll<HTMLElement>(`[data-shows="${name}"]`);
  for (const place of places('title')) place.textContent = text('title');
  for (const place of places('message')) place.textContent = text('message');
  for (const place of places('url')) place.textContent = text('url') || 'your page';
  const actions = [...fields.keys()]
    .filter((name) => name.startsWith('actionTitle'))
    .map(text)
    .filter(Boolean);
  for (const place of places('actions')) {
    place.replaceChildren(
      ...actions.slice(0, Number(place.dataset['max'])).map((title) => {
        const item = document.createElement('li');
        item.textContent = title;
        return item;
      }),
    );
  }
  const icon = text('icon');
  for (const picture of places('icon'))
    (picture as HTMLImageElement).src = /^data:image\//i.test(icon) ? icon : '/console/icon.svg';
  for (const place of form.querySelectorAll<HTMLElement>('[data-when]'))
    place.hidden = given(place.dataset['when']!) === '';
}

// Suggests tags in use, as a combobox with a list (ARIA 1.2). It replaces the page's `datalist`, which can suggest
// only the first tag.

interface Tag {
  readonly name: string;
  readonly label: string;
}

const maxShown = 8;

function startTagFields(form: HTMLFormElement): void {
  const tags = Array.from(form.querySelectorAll<HTMLOptionElement>('#tags option'), ({ value, text }) => ({
    name: value,
    label: text,
  }));
  if (tags.length === 0) return;
  for (const input of form.querySelectorAll<HTMLInputElement>('input[data-tags]')) startTagField(input, tags);
}

function startTagField(input: HTMLInputElement, tags: readonly Tag[]): void {
  const isOne = input.dataset['tags'] === 'one';
  const list = document.createElement('ul');
  list.id = `tags-${input.name}`;
  list.className = 'suggestions';
  list.hidden = true;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Tags in use');
  input.closest('.field')!.append(list);
  input.removeAttribute('list');
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': list.id,
    'aria-expanded': 'false',
  }))
    input.setAttribute(name, value);

  const options = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>('[role="option"]')];

  const close = (): void => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };

  const pick = (tag: string): void => {
    input.value = isOne ? tag : `${input.value.replace(/[^\s,]*$/, '')}${tag}, `;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    close();
  };

  const open = (): void => {
    const words = isOne ? [input.value.trim()] : input.value.split(/[\s,]+/);
    const typed = words.pop()!.toLowerCase();
    const found = tags
      .filter(({ name }) => name.toLowerCase().startsWith(typed) && !words.includes(name))
      .slice(0, maxShown);
    // the only suggestion is already typed
    if (found.length === 0 || (found.length === 1 && found[0]!.name === typed)) return close();
    list.replaceChildren(
      ...found.map(({ name, label }, index) => {
        const option = document.createElement('li');
        option.id = `${list.id}-${index}`;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        option.dataset['tag'] = name;
        option.textContent = label;
        return option;
      }),
    );
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    input.removeAttribute('aria-activedescendant');
  };

  /** @param step 1: the next suggestion; -1: the previous one; wraps around */
  const move = (step: number): void => {
    if (list.hidden) open();
    const all = options();
    if (list.hidden || all.length === 0) return;
    const current = all.findIndex(({ id }) => id === input.getAttribute('aria-activedescendant'));
    const next = all[(current + step + all.length + Number(current === -1 && step < 0)) % all.length]!;
    for (const option of all) option.setAttribute('aria-selected', String(option === next));
    input.setAttribute('aria-activedescendant', next.id);
    next.scrollIntoView({ block: 'nearest' });
  };

  input.addEventListener('input', open);
  input.addEventListener('focus', open);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    const chosen = document.getElementById(input.getAttribute('aria-activedescendant') ?? '');
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Escape' && !list.hidden) close();
    else if (event.key === 'Enter' && chosen !== null) pick(chosen.dataset['tag']!);
    else return;
    event.preventDefault();
  });
  // act on mousedown, before the field loses the focus
  list.addEventListener('mousedown', (event) => {
    event.preventDefault();
    const option = (event.target as Element).closest<HTMLElement>('[role="option"]');
    if (option !== null) pick(option.dataset['tag']!);
  });
}
