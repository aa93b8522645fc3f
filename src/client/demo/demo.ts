// The demo page: subscribe, see what arrives, leave again, and at each step what happened in words. Everything about
// push is in the page library; here is only what a person sees.
import { ClientError, type ClientState, createClient, type FailureReason } from '../index.ts';

interface Advice {
  readonly heading: string;
  readonly remedy: string;
}

/** What a person can do about each failure. */
const advice: Readonly<Record<FailureReason, Advice>> = {
  'not-in-browser': { heading: '', remedy: '' },
  'no-support': {
    heading: 'This browser cannot receive push messages',
    remedy:
      'Use a current Firefox, Chrome, Edge or Safari, in an ordinary window; on an iPhone or iPad, iOS 16.4 or newer.',
  },
  'home-screen-required': {
    heading: 'Add this page to the Home Screen first',
    remedy: 'Press the Share button, choose “Add to Home Screen”, and open Deskbell from there.',
  },
  'insecure-context': {
    heading: 'This page was not loaded securely',
    remedy: 'Open it over https, or as http://localhost on the machine that runs the service.',
  },
  'private-window': {
    heading: 'Not possible in a private window',
    remedy: 'Open this page in an ordinary window.',
  },
  'push-service-off': {
    heading: 'Brave does not use its push service',
    remedy:
      'Switch on “Use Google services for push messaging” in brave://settings/privacy, restart Brave, and press Subscribe again.',
  },
  'no-push-service': {
    heading: 'This browser has no push service',
    remedy: 'Use a current Firefox, Chrome, Edge or Safari.',
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
    heading: 'The service worker could not be started',
    remedy: 'Load this page again. The reason is below; the browser console may say more.',
  },
  'push-service-unreachable': {
    heading: "The browser's push service cannot be reached",
    remedy:
      'Check that this machine is online and that no firewall keeps the browser from its push service, then press Subscribe again.',
  },
  'not-subscribed': {
    heading: 'This browser is not subscribed',
    remedy: 'Press Subscribe first.',
  },
  'server-unreachable': {
    heading: 'The server cannot be reached',
    remedy: 'Check that “deskbell serve” is running, then try again.',
  },
  'server-refused': {
    heading: 'The server refused',
    remedy: 'Its answer is below; its log may say more.',
  },
};

/** What the log says of each request to the server: when it is sent, and when it has succeeded. */
const requestSteps: Readonly<Record<string, readonly [sent: string, answered: string]>> = {
  'GET vapidKey': [
    'Asking the server for its public key.',
    'The server gave its public key, which the push service will know it by.',
  ],
  'POST webPush': [
    'The push service has a subscription for this browser. Sending it to the server.',
    'The server has stored the subscription.',
  ],
  'DELETE webPush': ['Asking the server to forget this subscription.', 'The server has removed its copy.'],
  'POST channels': ['Sending the server what was turned off.', 'The server has turned it off.'],
};

const permissionWords: Readonly<Record<NotificationPermission, string>> = {
  granted: 'Notifications allowed',
  denied: 'Notifications blocked',
  default: 'Not asked yet',
};

const element = (id: string): HTMLElement => document.getElementById(id)!;
const card = element('browser');
const subscribeButton = element('subscribe');
const unsubscribeButton = element('unsubscribe');

const isInvitedOnly = document.body.dataset['registrations'] === 'invited';
/** By the last answer of the server, which takes invited browsers only. */
let isRefused = false;

const notInvited = [
  'Not invited',
  'This server takes invited browsers only. Ask for a new link of “deskbell invite”, and open it in this browser within ten minutes.',
] as const;

const client = createClient({ fetch: loggedFetch, serviceWorkerUrl: 'service-worker.js' });

onPress(subscribeButton, async () => {
  if (Notification.permission === 'default') step('Asking you for permission to show notifications.');
  await subscribe();
});

onPress(unsubscribeButton, async () => {
  step('Ending the subscription at the push service.');
  try {
    await client.unsubscribe();
    step('This browser is not subscribed any more.');
  } catch (error) {
    if ((await client.state()).subscription) throw error;
    const { heading } = adviceFor(error);
    showFailure(heading, 'This browser is unsubscribed anyway; the server notices at the next send.');
  }
});

const sendCommand = document.getElementById('command');
if (sendCommand) offerCommand(sendCommand);
linkManifest();
// A link opened where this page is open already changes no more than that.
addEventListener('hashchange', () => {
  linkManifest();
  void attempt(acceptInvitation);
});

void showMessages();
await attempt(async () => {
  const result = await client.synced;
  if (result === 'not-subscribed') step('This browser is not subscribed yet.');
  if (result === 'sent-again') step('This browser is subscribed, and the server has a fresh copy of that.');
  if (result === 'subscribed-anew')
    step('The former subscription could not be kept, so this browser has subscribed anew.');
  await acceptInvitation();
});
if (isSecureContext) {
  const permission = await navigator.permissions.query({ name: 'notifications' });
  permission.addEventListener('change', () => attempt(async () => undefined));
}

/** The token in the link of `deskbell invite`: in the fragment, which no server and no preview of the link gets. */
function invitation(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get('invitation') ?? undefined;
}

/** An app on the Home Screen has a storage of its own: it starts with the URL of this page where the manifest names none. */
function linkManifest(): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="manifest"]');
  if (link) link.href = invitation() ? 'invitation.webmanifest' : 'manifest.webmanifest';
}

async function subscribe(): Promise<void> {
  await client.subscribe({ invitation: invitation() });
  if (invitation()) history.replaceState(null, '', location.pathname + location.search);
  linkManifest();
  step('This browser is subscribed.');
}

/** A browser that is subscribed need not be asked; an app on the Home Screen has a link that was used in its start URL. */
async function acceptInvitation(): Promise<void> {
  if (invitation() === undefined) return;
  if ((await client.state()).isStored) await subscribe();
  else step('The link invites this browser.');
}

/** The command to send with, and its button. Lines break before options, not inside of them. */
function offerCommand(command: HTMLElement): void {
  command.replaceChildren(...command.textContent.split(/(?= --)/).map((part) => withText('span', part)));
  element('copy').addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      step('The command is in the clipboard.');
    } catch {
      getSelection()?.selectAllChildren(command);
      step('The browser keeps the clipboard to itself. The command is selected: copy it with the keyboard.');
    }
  });
}

async function showMessages(): Promise<void> {
  for await (const { title, message, receivedAtMs } of client.messages()) {
    element('nothing-received').hidden = true;
    addItem('received', withText('h3', title), timeOf(receivedAtMs), withText('p', message));
    step(`Received “${title}”.`);
    card.classList.remove('is-ringing');
    requestAnimationFrame(() => card.classList.add('is-ringing'));
  }
}

/** `fetch` with an entry in the log for each request. */
async function loggedFetch(url: URL, init: RequestInit): Promise<Response> {
  const [sent, answered] = requestSteps[`${init.method ?? 'GET'} ${url.pathname.split('/').at(-1)}`]!;
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
  isRefused = false;
  try {
    await work();
  } catch (error) {
    isRefused = isInvitedOnly && error instanceof ClientError && error.status === 403;
    const { heading, remedy } = adviceFor(error);
    showFailure(heading, remedy, (error as Error).message);
  }
  await showState();
  card.ariaBusy = 'false';
}

async function showState(): Promise<void> {
  const state = await client.state();
  const { obstacle, permission, subscription, isStored } = state;
  const canSubscribe = obstacle === undefined || obstacle === 'permission-denied';
  enable({ subscribe: canSubscribe && !isStored, unsubscribe: subscription !== undefined });
  card.classList.toggle('is-on', isStored);
  if (obstacle && element('failure').childElementCount === 0) {
    showFailure(advice[obstacle].heading, advice[obstacle].remedy);
  }

  const [headline, explanation] = statusText(state);
  setText('headline', headline);
  setText('explanation', explanation);
  setText('permission', permissionWords[permission]);
  setText('push-service', subscription ? new URL(subscription.endpoint).host : 'No subscription');
  setText('stored', isStored ? 'Stored' : subscription ? 'Not confirmed' : 'None');
}

function statusText({
  obstacle,
  subscription,
  isStored,
}: ClientState): readonly [headline: string, words: string] {
  if (isStored) {
    return ['This browser is subscribed', 'Messages show on this desktop, also when this page is closed.'];
  }
  if (isRefused) return notInvited;
  if (subscription) {
    return [
      'Subscribed, but the server has not confirmed it',
      'Press Subscribe to send the subscription again.',
    ];
  }
  if (obstacle) return ['Not subscribed', 'This browser cannot be subscribed:'];
  if (invitation()) {
    return ['You are invited', 'Press Subscribe, and your messages show on this device.'];
  }
  if (isInvitedOnly) return notInvited;
  return ['Not subscribed', 'Press Subscribe, and the server can show messages on this desktop.'];
}

function setText(id: string, words: string): void {
  element(id).textContent = words;
}

function adviceFor(error: unknown): Advice {
  return error instanceof ClientError
    ? advice[error.reason]
    : { heading: 'Something went wrong', remedy: 'Load this page again.' };
}

function enable(buttons: { readonly subscribe: boolean; readonly unsubscribe: boolean }): void {
  subscribeButton.setAttribute('aria-disabled', String(!buttons.subscribe));
  unsubscribeButton.setAttribute('aria-disabled', String(!buttons.unsubscribe));
}

function showFailure(heading: string, ...paragraphs: readonly string[]): void {
  const box = document.createElement('div');
  box.className = 'failure';
  box.append(withText('h3', heading), ...paragraphs.map((text) => withText('p', text)));
  element('failure').replaceChildren(box);
  step(`${heading}.`);
}

function step(text: string): void {
  addItem('steps', timeOf(Date.now()), withText('span', text));
}

/** Adds to a list, newest first, and lets the oldest go. */
function addItem(listId: string, ...content: readonly Node[]): void {
  const list = element(listId);
  const item = document.createElement('li');
  item.append(...content);
  list.prepend(item);
  if (list.childElementCount > 50) list.lastElementChild?.remove();
}

function withText<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  text: string,
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function timeOf(atMs: number): HTMLTimeElement {
  const date = new Date(atMs);
  const time = withText('time', date.toLocaleTimeString());
  time.dateTime = date.toISOString();
  return time;
}
