// The demo page: subscribe, see what arrives, leave again, and at each step what happened in words. Everything about
// push is in the page library; here is only what a person sees.
import { ClientError, createClient, type FailureReason } from '../index.ts';

/** What a person can do about each failure. */
const advice: Readonly<Record<FailureReason, { readonly heading: string; readonly remedy: string }>> = {
  'no-support': {
    heading: 'This browser cannot receive push messages',
    remedy:
      'Use a current Firefox, Chrome, Edge or Safari, in an ordinary window. On an iPhone or iPad, add this page to the Home Screen first.',
  },
  'insecure-context': {
    heading: 'This page was not loaded securely',
    remedy: 'Open it over https, or as http://localhost on the machine that runs the service.',
  },
  'permission-denied': {
    heading: 'Notifications are blocked for this site',
    remedy:
      'Open the site settings at the left end of the address bar, allow notifications, and load this page again.',
  },
  'permission-dismissed': {
    heading: 'The question was closed without an answer',
    remedy: 'Press Subscribe again and choose Allow.',
  },
  'service-worker-failed': {
    heading: 'The background script could not be started',
    remedy: 'Load this page again. If that does not help, look into the browser console.',
  },
  'push-service-unreachable': {
    heading: "The browser's push service cannot be reached",
    remedy:
      'Check that this machine is online and that no firewall keeps the browser from its push service, then press Subscribe again.',
  },
  'server-unreachable': {
    heading: 'The server cannot be reached',
    remedy: 'Check that “deskbell serve” is running, then press the button again.',
  },
  'server-refused': {
    heading: 'The server refused',
    remedy: 'What it said is below. Its log may say more.',
  },
};

/** Each request to the server, in words: when it is sent, and when it is answered well. */
const narration: Readonly<Record<string, readonly [sent: string, answered: string]>> = {
  'GET vapidKey': [
    'Asking the server for its public key.',
    'The server gave its public key, which the push service will know it by.',
  ],
  'POST webPush': [
    'The push service has a subscription for this browser. Sending it to the server.',
    'The server has stored the subscription.',
  ],
  'DELETE webPush': [
    'The subscription is ended at the push service. Asking the server to forget it.',
    'The server has removed its copy.',
  ],
};

const element = (id: string): HTMLElement => document.getElementById(id)!;
const card = element('browser');
const subscribeButton = element('subscribe');
const unsubscribeButton = element('unsubscribe');

const client = createClient({ fetch: narratedFetch });

onPress(subscribeButton, async () => {
  if ((await client.state()).permission === 'default')
    step('Asking you for permission to show notifications.');
  await client.subscribe();
  step('This browser is subscribed.');
});

onPress(unsubscribeButton, async () => {
  await client.unsubscribe();
  step('This browser is not subscribed any more.');
});

element('copy').addEventListener('click', async () => {
  await navigator.clipboard.writeText(element('command').textContent);
  step('The command is in the clipboard.');
});

void showMessages();
await attempt(async () => {
  const result = await client.synced;
  if (result === 'not-subscribed') step('This browser is not subscribed yet.');
  if (result === 'sent-again') step('This browser is subscribed, and the server has a fresh copy of that.');
  if (result === 'subscribed-anew') step('The server has a new key, so this browser has subscribed anew.');
});
if (isSecureContext) {
  const permission = await navigator.permissions.query({ name: 'notifications' });
  permission.addEventListener('change', () => attempt(async () => undefined));
}

async function showMessages(): Promise<void> {
  for await (const { title, message, receivedAtMs } of client.messages()) {
    element('nothing-received').hidden = true;
    const heading = document.createElement('h3');
    heading.textContent = title;
    const text = document.createElement('p');
    text.textContent = message;
    addItem(element('received'), heading, timeOf(receivedAtMs), text);
    step(`Received “${title}”.`);
    card.classList.remove('is-ringing');
    requestAnimationFrame(() => card.classList.add('is-ringing'));
  }
}

/** `fetch`, told in the log. */
async function narratedFetch(url: URL, init: RequestInit): Promise<Response> {
  const [sent, answered] = narration[`${init.method ?? 'GET'} ${url.pathname.split('/').at(-1)}`]!;
  step(sent);
  const response = await fetch(url, init);
  if (response.ok) step(answered);
  return response;
}

function onPress(button: HTMLElement, work: () => Promise<void>): void {
  // aria-disabled rather than disabled: the button keeps the keyboard's focus.
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-disabled') === 'false') void attempt(work);
  });
}

/** Does something that may fail, then shows where this browser stands, and in words what failed. */
async function attempt(work: () => Promise<void>): Promise<void> {
  card.ariaBusy = 'true';
  enable({ subscribe: false, unsubscribe: false });
  element('failure').replaceChildren();
  try {
    await work();
  } catch (error) {
    showFailure(error as Error);
  }
  await showState();
  card.ariaBusy = 'false';
}

async function showState(): Promise<void> {
  const { obstacle, permission, subscription, isStored } = await client.state();
  const hasSupport = obstacle === undefined || obstacle === 'permission-denied';
  enable({ subscribe: hasSupport && !isStored, unsubscribe: subscription !== undefined });
  card.classList.toggle('is-on', isStored);

  const [headline, explanation] = isStored
    ? ['This browser is subscribed', 'Messages show on this desktop, also when this page is closed.']
    : subscription
      ? ['Subscribed, but the server has not confirmed it', 'Press Subscribe to send the subscription again.']
      : hasSupport
        ? ['Not subscribed', 'Press Subscribe, and the server can show messages on this desktop.']
        : ['No notifications here', 'What stands in the way is below.'];
  element('headline').textContent = headline!;
  element('explanation').textContent = explanation!;

  element('permission').textContent = {
    granted: 'Notifications allowed',
    denied: 'Notifications blocked',
    default: 'Not asked yet',
  }[permission];
  element('push-service').textContent = subscription
    ? new URL(subscription.endpoint).host
    : 'No subscription';
  element('stored').textContent = isStored ? 'Stored' : subscription ? 'Not confirmed' : 'None';

  if (obstacle && element('failure').childElementCount === 0) showFailure(new ClientError(obstacle, ''));
}

function enable(buttons: { readonly subscribe: boolean; readonly unsubscribe: boolean }): void {
  subscribeButton.setAttribute('aria-disabled', String(!buttons.subscribe));
  unsubscribeButton.setAttribute('aria-disabled', String(!buttons.unsubscribe));
}

function showFailure(error: Error): void {
  const { heading, remedy } =
    error instanceof ClientError
      ? advice[error.reason]
      : { heading: 'Something went wrong', remedy: 'Load this page again.' };
  const parts = [
    ['h3', heading],
    ['p', remedy],
    ['p', error.message],
  ] as const;
  const box = document.createElement('div');
  box.className = 'failure';
  for (const [name, text] of parts) {
    const part = document.createElement(name);
    part.textContent = text;
    box.append(part);
  }
  element('failure').replaceChildren(box);
  step(`${heading}.`);
}

function step(text: string): void {
  const words = document.createElement('span');
  words.textContent = text;
  addItem(element('steps'), timeOf(Date.now()), words);
}

/** Adds to a list, newest first, and lets the oldest go. */
function addItem(list: HTMLElement, ...content: readonly Node[]): void {
  const item = document.createElement('li');
  item.append(...content);
  list.prepend(item);
  if (list.childElementCount > 50) list.lastElementChild?.remove();
}

function timeOf(atMs: number): HTMLTimeElement {
  const time = document.createElement('time');
  const date = new Date(atMs);
  time.dateTime = date.toISOString();
  time.textContent = date.toLocaleTimeString();
  return time;
}
