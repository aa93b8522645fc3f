// The composer while it is being filled in: the notification as it will look, the fields of the chosen audience, and a message
// to this very browser, whose subscription goes along with it and is not stored.

import { defaultTimeoutMs } from '../time-limit.ts';
import { subscribe } from '../subscription.ts';

export function startComposer(form: HTMLFormElement): void {
  const update = (): void => {
    showPreview(form);
    showAudience(form);
  };
  form.addEventListener('input', update);
  update();
  const button = form.querySelector<HTMLButtonElement>('[data-send-to-me]')!;
  if (!('serviceWorker' in navigator && 'PushManager' in window && button.dataset['vapidKey'])) return;
  button.hidden = false;
  button.addEventListener('click', () => void sendToMe(form, button));
}

function showPreview(form: HTMLFormElement): void {
  const fields = new FormData(form);
  const text = (name: string): string => String(fields.get(name) ?? '');
  const place = (name: string): Element => form.querySelector(`[data-shows="${name}"]`)!;
  place('title').textContent = text('title') || 'Title';
  place('message').textContent = text('message');
  place('url').textContent = text('url');
  const actions = [...fields].filter(([name, value]) => name.startsWith('actionTitle') && value !== '');
  place('actions').replaceChildren(
    ...actions.map(([, title]) => {
      const item = document.createElement('li');
      item.textContent = String(title);
      return item;
    }),
  );
  const icon = text('icon');
  form.querySelector<HTMLImageElement>('.picture img')!.src = /^data:image\//i.test(icon)
    ? icon
    : '/console/icon.svg';
}

function showAudience(form: HTMLFormElement): void {
  const chosen = new FormData(form).get('audience');
  for (const field of form.querySelectorAll<HTMLElement>('[data-audience]')) {
    field.hidden = field.dataset['audience'] !== chosen;
  }
}

async function sendToMe(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const answer = form.querySelector('[data-answer]')!;
  button.disabled = true;
  answer.textContent = 'Sending …';
  try {
    const subscription = await subscribeHere(button.dataset['vapidKey']!);
    const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    body.set('subscription', JSON.stringify(subscription));
    const response = await fetch('/console/send/test', { method: 'POST', body });
    answer.textContent = describe((await response.json()) as Answer);
  } catch (error) {
    answer.textContent = `It was not sent: ${(error as Error).message}`;
  } finally {
    button.disabled = false;
  }
}

interface Answer {
  readonly outcome?: string;
  readonly pushService?: string;
  readonly status?: number;
  readonly detail?: string;
}

function describe({ outcome, pushService, status, detail }: Answer): string {
  if (outcome === 'accepted') return `${pushService} took the message. It shows here in a moment.`;
  if (outcome === undefined) return `It was not sent: ${detail}`;
  return `${pushService} answered ${status ?? 'nothing'}: ${outcome}${detail ? ` (${detail})` : ''}.`;
}

async function subscribeHere(vapidKey: string): Promise<PushSubscription> {
  if ((await Notification.requestPermission()) !== 'granted') {
    throw new Error('notifications are not allowed for this page; allow them in the address bar.');
  }
  await navigator.serviceWorker.register('/console/service-worker.js', { scope: '/console/' });
  const { pushManager } = await navigator.serviceWorker.ready;
  const { subscription } = await subscribe(pushManager, vapidKey, defaultTimeoutMs);
  return subscription;
}
