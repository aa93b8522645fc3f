// `<deskbell-subscribe>`: shows a button that turns notifications on and off, with advice if they are not available.
// It can also show the reader's channels and last notifications. Pages load this script beside the page library.
import { chooseLanguage, directionOf } from './choose-language.ts';
import {
  type Channel,
  type Client,
  type ClientError,
  createClient,
  type FailureReason,
  type HistoryEntry,
} from './index.ts';
import { english, type Texts } from './subscribe/english.ts';
import { style } from './subscribe/style.ts';

const tagName = 'deskbell-subscribe';
// The address is in a variable, because bundlers would treat `new URL(…, import.meta.url)` as a file to include.
const scriptUrl = import.meta.url;
const bell =
  'M12 2a1.5 1.5 0 0 1 1.5 1.5v.6a6.4 6.4 0 0 1 4.9 6.2v3.8l1.7 2.5a1.2 1.2 0 0 1-1 1.9H4.9a1.2 1.2 0 0 1-1-1.9l1.7-2.5v-3.8a6.4 6.4 0 0 1 4.9-6.2v-.6A1.5 1.5 0 0 1 12 2ZM9.4 19.5h5.2a2.6 2.6 0 0 1-5.2 0Z';

/** The text to show for a reason. For other reasons, the element says that something went wrong. */
const wordsFor: Readonly<Partial<Record<FailureReason, keyof Texts>>> = {
  'no-support': 'unsupported',
  'no-push-service': 'unsupported',
  'home-screen-required': 'homeScreen',
  'insecure-context': 'insecure',
  'private-window': 'privateWindow',
  'permission-denied': 'blocked',
  'permission-dismissed': 'dismissed',
  'service-worker-failed': 'worker',
  'push-service-off': 'brave',
  'push-service-unreachable': 'offline',
  'server-unreachable': 'offline',
};

/** All elements of a page share a client for each service and service worker. */
const clients = new Map<string, Client>();

// A server that renders pages may import this module.
const Base = (globalThis.HTMLElement ?? Object) as typeof HTMLElement;

/**
 * The `<deskbell-subscribe>` element. The element sets its `state` attribute to `subscribed`, to `unsubscribed`, or to
 * the reason why the browser cannot subscribe. The element reads these attributes:
 *
 * - `service`: the service's address. Default: the address from which this script was loaded.
 * - `worker`: the address of the service worker's script. Default: the service's own script.
 * - `channels`: shows the reader's channels. With `channels="open"`, the list is open at first.
 * - `history`: shows the reader's latest notifications.
 * - `lang`: the element's language. Default: the reader's language.
 */
export class DeskbellSubscribe extends Base {
  /** The token of an invitation, for when the reader presses the element's button. */
  invitation: string | undefined;
  #client: Client | undefined;
  #texts: Texts = english;
  /** The error of the last press of the button, or of the re-sync at page load. */
  #failure: ClientError | undefined;
  #isSubscribed = false;
  #listening = new AbortController();
  /** Updates run one after another, so that the latest update determines what is shown. */
  #work: Promise<void> = Promise.resolve();

  readonly #icon = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  readonly #text = create('p', 'text');
  readonly #button = create('button', 'button');
  readonly #channels = create('details', 'channels');
  readonly #channelList = create('ul', 'list');
  readonly #history = create('details', 'history');
  readonly #historyList = create('ol', 'list');
  readonly #unread = create('span', 'unread');

  /** The element's client, which is created on first use unless the page has set a client. */
  get client(): Client {
    if (this.#client) return this.#client;
    const service = new URL(this.getAttribute('service') ?? new URL('../', scriptUrl), document.baseURI);
    if (!service.pathname.endsWith('/')) service.pathname += '/';
    const script = this.getAttribute('worker') ?? new URL('service-worker.js', service).href;
    const worker = new URL(script, document.baseURI);
    const key = `${service} ${worker}`;
    // Browsers refuse to register a service worker from another origin.
    const isOwn = worker.origin === location.origin;
    const options = { serviceUrl: service, ...(isOwn && { serviceWorkerUrl: worker }) };
    this.#client = clients.get(key) ?? createClient(options);
    clients.set(key, this.#client);
    return this.#client;
  }

  set client(client: Client) {
    this.#client = client;
    if (this.isConnected) this.#start();
  }

  connectedCallback(): void {
    if (!this.shadowRoot) this.#build();
    if (Object.hasOwn(this, 'client')) {
      // If a page sets `client` before this script is loaded, that property hides the element's accessor.
      this.#client = this.client;
      delete (this as { client?: Client }).client;
    }
    this.#start();
  }

  disconnectedCallback(): void {
    this.#listening.abort();
  }

  /** Starts after the current script, which may be about to set `client`. */
  #start(): void {
    this.#listening.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    queueMicrotask(() => {
      if (signal.aborted) return;
      const { client } = this;
      client.addEventListener('change', () => this.#do(), { signal });
      client.addEventListener('message', () => this.#do(), { signal });
      // A click on a notification may have marked the notification as read.
      addEventListener('focus', () => this.#do(), { signal });
      this.#do(async () => {
        await this.#chooseTexts();
        await client.synced.catch(async (error) => {
          // a later call has succeeded
          const isOver = (await client.state()).isStored;
          if (!isOver) this.#fail(error);
        });
      });
    });
  }

  #build(): void {
    const path = document.createElementNS(this.#icon.namespaceURI, 'path');
    path.setAttribute('d', bell);
    this.#icon.append(path as Node);
    this.#icon.setAttribute('viewBox', '0 0 24 24');
    this.#icon.setAttribute('part', 'icon');
    this.#icon.setAttribute('aria-hidden', 'true');
    this.#text.setAttribute('role', 'status');
    this.#text.tabIndex = -1;
    this.#text.dir = 'auto';
    this.#button.type = 'button';
    this.#button.addEventListener('click', () => this.#press());
    this.#channels.append(create('summary', 'summary'), this.#channelList);
    this.#channels.open = this.getAttribute('channels') === 'open';
    this.#channels.addEventListener('toggle', () => {
      if (this.#channels.open) this.#failure = undefined;
      this.#do();
    });
    this.#history.append(create('summary', 'summary'), this.#historyList);
    this.#history.addEventListener('toggle', () => this.#do());
    const box = create('div', 'box');
    box.append(this.#icon, this.#text, this.#button, this.#channels, this.#history);
    box.hidden = true;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    const root = this.attachShadow({ mode: 'open' });
    // a content security policy cannot forbid this kind of style sheet
    root.adoptedStyleSheets = [sheet];
    root.append(box);
  }

  #do(work?: () => Promise<void>): void {
    if (work) this.#setBusy(true);
    this.#work = this.#work.then(async () => {
      try {
        await work?.();
      } catch (error) {
        this.#fail(error as ClientError);
      }
      // the page may have set a client of its own
      await this.#show().catch((error) => this.#fail(error));
      if (work) this.#setBusy(false);
      this.dispatchEvent(new Event('deskbell-change', { bubbles: true }));
    });
  }

  #setBusy(isBusy: boolean): void {
    this.ariaBusy = String(isBusy);
    this.#button.ariaDisabled = this.ariaBusy;
  }

  #press(): void {
    if (this.#button.ariaDisabled === 'true') return;
    this.#failure = undefined;
    const { client, invitation } = this;
    // Start at once: if too much time has passed since the click, browsers do not ask for permission.
    const work = this.#isSubscribed ? client.unsubscribe() : client.subscribe({ invitation });
    const done = work.then(
      () => undefined,
      (error: ClientError) => error,
    );
    this.#do(async () => {
      const error = await done;
      if (error) throw error;
    });
  }

  #fail(error: ClientError): void {
    this.#failure = error;
    this.dispatchEvent(new CustomEvent('deskbell-error', { bubbles: true, detail: error }));
  }

  async #chooseTexts(): Promise<void> {
    const wanted = this.lang ? [this.lang] : navigator.languages;
    const chosen = chooseLanguage(wanted);
    const loaded =
      chosen === 'en' ? undefined : await import('./subscribe/languages.ts').catch(() => undefined);
    const lang = loaded ? chosen : 'en';
    this.#texts = loaded && lang !== 'en' ? loaded.languages[lang] : english;
    const box = this.#text.parentElement!;
    box.lang = lang;
    box.dir = directionOf(lang);
  }

  async #show(): Promise<void> {
    const { obstacle, subscription, isStored } = await this.client.state();
    // Once the browser is subscribed or unsubscribed, an earlier failure no longer matters.
    if (isStored !== this.#isSubscribed && (isStored || !subscription)) this.#failure = undefined;
    this.#isSubscribed = isStored;
    const reason = this.#failure?.reason ?? (isStored ? undefined : obstacle);
    this.setAttribute('state', isStored ? 'subscribed' : (reason ?? 'unsubscribed'));
    const texts = this.#texts;
    // the page's `token` function may have thrown an error that has no `reason`
    const isFailed = this.#failure !== undefined || reason !== undefined;
    const words = isFailed ? (wordsFor[reason!] ?? 'failed') : isStored ? 'on' : 'why';
    const own = words === 'why' && this.textContent.trim();
    setText(this.#text, own || texts[words].replace('{site}', location.host));
    setText(this.#button, isStored ? texts.turnOff : texts.turnOn);
    const isOver = obstacle !== undefined && !isStored;
    if (isOver && this.shadowRoot!.activeElement === this.#button) this.#text.focus();
    this.#button.hidden = isOver;
    this.#channels.hidden = !isStored || !this.hasAttribute('channels');
    if (!this.#channels.hidden) await this.#showChannels();
    this.#history.hidden = !isStored || !this.hasAttribute('history');
    if (!this.#history.hidden) await this.#showHistory();
    this.#text.parentElement!.hidden = false;
  }

  async #showChannels(): Promise<void> {
    setText(this.#channels.querySelector('summary')!, this.#texts.channels);
    if (!this.#channels.open) this.#channelList.replaceChildren();
    else if (!this.#channelList.hasChildNodes()) {
      await this.#setChannels({}).catch((error) => {
        this.#channels.open = false;
        this.#fail(error);
      });
    }
  }

  async #setChannels(choices: Readonly<Record<string, boolean>>): Promise<void> {
    const channels = await this.client.setChannels(choices);
    if (this.#channelList.hasChildNodes()) {
      for (const input of this.#channelList.querySelectorAll('input'))
        input.checked = channels.find(({ name }) => name === input.name)?.isOn ?? input.checked;
    } else {
      const items = channels.map((channel) => this.#channelItem(channel));
      this.#channelList.replaceChildren(
        ...(items.length > 0 ? items : [withText('li', this.#texts.nothing)]),
      );
    }
  }

  #channelItem({ name, title, language = '', isOn }: Channel): HTMLLIElement {
    const words = withText('span', title);
    words.lang = language;
    words.dir = 'auto';
    const input = document.createElement('input');
    input.type = 'checkbox';
    input.name = name;
    input.checked = isOn;
    input.addEventListener('change', () => {
      this.#failure = undefined;
      this.#do(async () => {
        const { checked } = input;
        input.checked = !checked;
        await this.#setChannels({ [name]: checked });
      });
    });
    const label = document.createElement('label');
    label.append(input, words);
    const item = document.createElement('li');
    item.append(label);
    return item;
  }

  async #showHistory(): Promise<void> {
    const { client } = this;
    const entries = await client.history();
    const unread = entries.filter(({ isRead }) => !isRead).length;
    const summary = this.#history.querySelector('summary')!;
    setText(this.#unread, this.#texts.unread.replace('{count}', String(unread)));
    this.#unread.hidden = unread === 0;
    if (!this.#unread.isConnected) summary.append(this.#texts.history, this.#unread);
    if (!this.#history.open) return this.#historyList.replaceChildren();
    // Entries look unread while they are visible, although showing the list marks them as read.
    const items = entries.map(historyItem);
    this.#historyList.replaceChildren(...(items.length > 0 ? items : [withText('li', this.#texts.nothing)]));
    if (unread > 0 && document.hasFocus()) await client.markRead();
  }
}

if (globalThis.customElements && !customElements.get(tagName)) {
  customElements.define(tagName, DeskbellSubscribe);
}

declare global {
  interface HTMLElementTagNameMap {
    [tagName]: DeskbellSubscribe;
  }
}

function historyItem({ title, message, url, lang = '', receivedAtMs, isRead }: HistoryEntry): HTMLLIElement {
  const item = document.createElement('li');
  item.lang = lang;
  item.dir = 'auto';
  item.classList.toggle('unread', !isRead);
  const heading = withText(url === undefined ? 'strong' : 'a', title);
  if (heading instanceof HTMLAnchorElement) heading.href = url!;
  const date = new Date(receivedAtMs);
  const time = withText('time', date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' }));
  time.dateTime = date.toISOString();
  item.append(heading, withText('p', message), time);
  return item;
}

function create<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  part: string,
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.setAttribute('part', part);
  return made;
}

function withText<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  text: string,
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Sets the text only if it changes: screen readers read a text again whenever it is set. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
