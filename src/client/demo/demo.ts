// The demo page: subscribe, see messages arrive, unsubscribe.
import { type ClientError, type ClientState, createClient, type FailureReason } from '../index.ts';
import '../subscribe.ts';

/** Advice for the person who runs the server. The element's own advice is for readers. */
const remedies: Readonly<Partial<Record<FailureReason, string>>> = {
  'service-worker-failed': 'The browser console may say more.',
  'push-service-unreachable': 'Check that no firewall keeps the browser from its push service.',
  'server-unreachable': 'Check that “deskbell serve” is running.',
  'server-refused': 'The log of the server may say more.',
};

const permissionWords: Readonly<Record<NotificationPermission, string>> = {
  granted: 'Notifications allowed',
  denied: 'Notifications blocked',
  default: 'Not asked yet',
};

const element = (id: string): HTMLElement => document.getElementById(id)!;
const card = element('browser');
const button = document.querySelector('deskbell-subscribe')!;

const isInvitedOnly = document.body.dataset['registrations'] === 'invited';
let failure: ClientError | undefined;
let isLeaving = false;

const notInvited =
  'This server takes invited browsers only. Ask for a new link of “deskbell invite”, and open it in this browser within ten minutes.';

const usedLink =
  'This link was used already, or has expired. Ask for a new one of “deskbell invite”, and open it in this browser within ten minutes.';

const client = createClient({ serviceWorkerUrl: 'service-worker.js' });
button.client = client;
readInvitation();

button.addEventListener('click', (event) => {
  if (!(event.composedPath()[0] instanceof HTMLButtonElement)) return;
  failure = undefined;
  isLeaving = button.getAttribute('state') === 'subscribed';
});
button.addEventListener('deskbell-error', (event) => {
  failure = (event as CustomEvent<ClientError>).detail;
});
button.addEventListener('deskbell-change', () => void showState());

const sendCommand = document.getElementById('command');
if (sendCommand) offerCommand(sendCommand);
addEventListener('hashchange', () => {
  failure = undefined;
  readInvitation();
  void acceptInvitation();
});

void showMessages();
client.synced.then(acceptInvitation, () => undefined);

/** The token in the link of `deskbell invite`. It is in the fragment, which browsers never send to servers. */
function invitation(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get('invitation') ?? undefined;
}

/** Links a manifest. An invitation's manifest has no start URL, so a Home Screen app starts at this page's URL. */
function linkManifest(): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="manifest"]');
  if (link) link.href = invitation() ? 'invitation.webmanifest' : 'manifest.webmanifest';
}

function readInvitation(): void {
  button.invitation = invitation();
  if (isInvitedOnly) {
    button.textContent = invitation()
      ? 'Your messages show on this device, also when this page is closed.'
      : notInvited;
  }
  linkManifest();
}

/**
 * Does nothing in a subscribed browser: an app on the Home Screen always starts with its invitation link, even after
 * the link was used.
 */
async function acceptInvitation(): Promise<void> {
  if (invitation() === undefined) return;
  if (!(await client.state()).isStored) return showState();
  await client.subscribe({ invitation: invitation() }).catch((error) => (failure = error));
  await showState();
}

/** Shows the command with its copy button. Lines break before options, not inside them. */
function offerCommand(command: HTMLElement): void {
  command.replaceChildren(...command.textContent.split(/(?= --)/).map((part) => withText('span', part)));
  element('copy').addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      setText('copy', 'Copied');
    } catch {
      getSelection()?.selectAllChildren(command);
      setText('copy', 'Press Ctrl+C or ⌘C');
    }
  });
}

async function showMessages(): Promise<void> {
  for await (const { title, message, receivedAtMs } of client.messages()) {
    element('nothing-received').hidden = true;
    const list = element('received');
    const item = document.createElement('li');
    item.append(withText('h3', title), timeOf(receivedAtMs), withText('p', message));
    list.prepend(item);
    if (list.childElementCount > 50) list.lastElementChild?.remove();
    button.classList.remove('is-ringing');
    requestAnimationFrame(() => button.classList.add('is-ringing'));
  }
}

async function showState(): Promise<void> {
  card.ariaBusy = 'true';
  const state = await client.state();
  const { permission, subscription, isStored } = state;
  if (isStored && invitation() && !failure) {
    history.replaceState(null, '', location.pathname + location.search);
    readInvitation();
  }
  // hide the button: the service would refuse again, and the element would only say that something went wrong
  button.hidden = isRefused() && !isStored;
  showFailure(failure, isLeaving && !subscription);
  setText('headline', headline(state));
  setText('permission', permissionWords[permission]);
  setText('push-service', subscription ? new URL(subscription.endpoint).host : 'No subscription');
  setText('stored', isStored ? 'Stored' : subscription ? 'Not confirmed' : 'None');
  card.ariaBusy = button.ariaBusy;
}

const isRefused = (): boolean => isInvitedOnly && failure?.status === 403;

function headline({ subscription, isStored }: ClientState): string {
  if (isStored) return 'This browser is subscribed';
  if (isRefused()) return 'Not invited';
  if (subscription) return 'Subscribed, but the server has not confirmed it';
  if (invitation()) return 'You are invited';
  return isInvitedOnly ? 'Not invited' : 'Not subscribed';
}

function setText(id: string, words: string): void {
  element(id).textContent = words;
}

function showFailure(error: ClientError | undefined, hasLeft: boolean): void {
  const isOver = error === undefined || error.reason === 'permission-dismissed';
  const remedy = hasLeft
    ? 'This browser is unsubscribed anyway; the server notices at the next send.'
    : error && remedies[error.reason];
  const refusal = invitation() ? usedLink : notInvited;
  const words = isOver ? [] : isRefused() ? [refusal] : [error.message, remedy ?? ''];
  const text = words.join(' ').trim();
  if (text !== element('failure').textContent) setText('failure', text);
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
