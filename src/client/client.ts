// The page library's client: the life cycle of this browser's subscription.
import {
  assertSupport,
  ClientError,
  type FailureReason,
  isInBrowser,
  missingSupport,
  permissionDenied,
} from './client-error.ts';
import {
  clearHistory,
  type HistoryEntry,
  markAsRead,
  readHistory,
  readState,
  updateState,
} from './database.ts';
import type { PushMessage } from './push-message.ts';
import {
  type Channel,
  type Choices,
  ServiceApi,
  type ServiceApiOptions,
  subscriptionBody,
} from './service-api.ts';
import { atPushService, ownName, reconcile, sendChoices } from './subscription.ts';
import { resolveAddress, WorkerRegistration } from './worker-registration.ts';

/** The state of this browser. */
export interface ClientState {
  /** Why this browser cannot be subscribed, as far as is known without a request. */
  readonly obstacle: FailureReason | undefined;
  /** Whether the user allows notifications; `default` if the browser has not asked yet. */
  readonly permission: NotificationPermission;
  /** The browser's subscription, even if the service does not have it. */
  readonly subscription: PushSubscription | undefined;
  /** True once the service has confirmed this subscription since the page was loaded. */
  readonly isStored: boolean;
}

/** `createClient` takes these options, which all have defaults. */
export interface ClientOptions extends ServiceApiOptions {
  /** Address of the Deskbell service. Default: the page's own folder. */
  readonly serviceUrl?: string | URL;
  /**
   * Address of the service worker's script, on the page's own origin. The client registers this script if the site has
   * not registered it. Default: the service worker that controls the page. If no service worker controls the page, the
   * default is `service-worker.js` beside the page.
   */
  readonly serviceWorkerUrl?: string | URL;
  /** How many notifications the service worker keeps for `history()`; 0 for none. Default: 100. */
  readonly historyLimit?: number;
}

/** `subscribe` takes these options. */
export interface SubscribeOptions {
  /** The token of an invitation (`deskbell invite`): the subscription will belong to the invited person. */
  readonly invitation?: string | undefined;
}

/** The result of the re-sync at page load. */
export type SyncResult = 'not-subscribed' | 'sent-again' | 'subscribed-anew';

/** This browser's subscription, and its push messages as they arrive. */
export interface Client extends EventTarget {
  /**
   * Asks for permission if needed, subscribes, and stores the subscription at the service. Call it from a click. An
   * existing subscription is sent again. A new subscription is ended if the service refuses it (400, 401, 403).
   *
   * @throws {ClientError}
   */
  subscribe(options?: SubscribeOptions): Promise<PushSubscription>;
  /**
   * Ends the subscription and removes the service's copy. This browser is unsubscribed even if a server cannot be
   * reached. The service then removes its copy when it next sends to the subscription.
   *
   * @throws {ClientError}
   */
  unsubscribe(): Promise<void>;
  /**
   * Removes user and tags from the service's copy of the subscription. After this call, `token` should return nothing.
   *
   * @throws {ClientError}
   */
  signOut(): Promise<void>;
  /**
   * Lists all channels, with whether each channel is on for the signed-in person or for this browser. Needs a service
   * that lets readers choose channels.
   *
   * @throws {ClientError} `not-subscribed` if this browser has no subscription
   */
  channels(): Promise<readonly Channel[]>;
  /**
   * Switches channels on or off by name. Other channels do not change.
   *
   * @example
   * await client.setChannels({ news: false });
   * @returns all channels, as they are now
   * @throws {ClientError} `not-subscribed` if this browser has no subscription, or the service no longer has it
   */
  setChannels(choices: Choices): Promise<readonly Channel[]>;
  /** Reads this browser's state, without a request. Never rejects. */
  state(): Promise<ClientState>;
  /**
   * Sends the subscription to the service. Subscribes again before that if the service's key has changed or the push
   * service has dropped the subscription. The client calls this method at each page load. Call it yourself when
   * somebody signs in without loading a page.
   *
   * @throws {ClientError}
   */
  resync(): Promise<SyncResult>;
  /** A promise for the re-sync at this page load, which rejects with a `ClientError`. */
  readonly synced: Promise<SyncResult>;
  /**
   * The latest notifications that this browser showed, newest first, including dismissed ones. `unsubscribe` and
   * `signOut` delete them.
   *
   * @throws {ClientError} `not-in-browser`, or `permission-denied` if the browser keeps nothing for the site
   */
  history(): Promise<readonly HistoryEntry[]>;
  /**
   * Marks all notifications of `history()` as read. A click on a notification marks only that notification.
   *
   * @throws {ClientError} `not-in-browser`, or `permission-denied` if the browser keeps nothing for the site
   */
  markRead(): Promise<void>;
  /** Iterates over the push messages from now on, until you leave the loop or call `return()`. */
  messages(): AsyncIterableIterator<PushMessage>;
  addEventListener(type: 'message', listener: (event: MessageEvent<PushMessage>) => void): void;
  /** Fired when `state()` may have changed: after a call or re-sync, even a failed one, or a change of permission. */
  addEventListener(type: 'change', listener: (event: Event) => void): void;
  addEventListener(...parameters: Parameters<EventTarget['addEventListener']>): void;
  removeEventListener(type: 'message', listener: (event: MessageEvent<PushMessage>) => void): void;
  removeEventListener(...parameters: Parameters<EventTarget['removeEventListener']>): void;
}

const optionNames: readonly string[] = [
  'serviceUrl',
  'serviceWorkerUrl',
  'timeoutMs',
  'fetch',
  'token',
  'historyLimit',
] satisfies readonly (keyof ClientOptions)[];

/**
 * Creates the client and starts its re-sync. Call this function once per page, at module level. While a server renders
 * the page, the client does nothing, and its methods reject with `not-in-browser`.
 *
 * @example
 * const client = createClient({ serviceUrl: '/push/' });
 * button.onclick = () => client.subscribe();
 * for await (const { title, message } of client.messages()) console.log(title, message);
 * @throws {TypeError} lists an unknown option and the known options, or `historyLimit` if it is negative or not a whole
 *   number
 */
export function createClient(options: ClientOptions = {}): Client {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown) throw new TypeError(`"${unknown}" is unknown; there are ${optionNames.join(', ')}.`);
  const { historyLimit = 0 } = options;
  if (!Number.isInteger(historyLimit) || historyLimit < 0) {
    throw new TypeError(`"historyLimit" is ${historyLimit}; it must be a whole number from 0.`);
  }
  // Unlike the class `DeskbellClient`, the type `Client` declares the types of the client's events.
  return new DeskbellClient(options) as Client;
}

interface Delivered {
  readonly deskbell: PushMessage;
  readonly scope: string;
}

class DeskbellClient extends EventTarget {
  readonly synced: Promise<SyncResult>;
  // on a server, `#service` and `#worker` are not set
  readonly #service!: ServiceApi;
  readonly #worker!: WorkerRegistration;
  readonly #historyLimit: number | undefined;
  #delivery: Promise<void> = Promise.resolve();

  constructor(options: ClientOptions) {
    super();
    const { serviceUrl = './', serviceWorkerUrl, historyLimit } = options;
    this.#historyLimit = historyLimit;
    if (isInBrowser) {
      const service = resolveAddress(serviceUrl);
      if (!service.pathname.endsWith('/')) service.pathname += '/';
      this.#service = new ServiceApi(service, options);
      const scriptUrl = serviceWorkerUrl === undefined ? undefined : resolveAddress(serviceWorkerUrl);
      this.#worker = new WorkerRegistration(scriptUrl, this.#service.timeoutMs);
    }
    if (!missingSupport()) {
      navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent) => {
        if (!data?.deskbell) return;
        this.#delivery = this.#delivery.then(() => this.#deliver(data)).catch(() => undefined);
      });
      navigator.serviceWorker.startMessages();
      void this.#watchPermission();
    }
    this.synced = this.resync();
    // Failures are also reported on the console, so a page need not handle this rejection.
    this.synced.catch(() => undefined);
  }

  subscribe({ invitation }: SubscribeOptions = {}): Promise<PushSubscription> {
    return this.#change(async () => {
      assertSupport();
      // This must be the first await: browsers ask for permission only shortly after a click.
      const permission = await Notification.requestPermission();
      if (permission === 'denied') throw permissionDenied();
      if (permission !== 'granted') {
        throw new ClientError(
          'permission-dismissed',
          'The question about notifications was closed, or subscribe() was not called in a click.',
        );
      }
      return this.#withLock(async () => {
        this.#service.invitation = invitation;
        return this.#reconcile(true);
      });
    });
  }

  unsubscribe(): Promise<void> {
    return this.#change(async () => {
      assertSupport();
      await this.#withLock(async () => {
        const { registration, subscription, bodies } = await this.#current();
        if (registration) {
          const forgotten = { storedBody: undefined, formerBody: undefined, choices: undefined };
          await updateState(registration.scope, forgotten);
          await clearHistory(registration.scope);
        }
        try {
          if (subscription) await atPushService(subscription.unsubscribe(), this.#service.timeoutMs);
        } finally {
          await Promise.all(bodies.map((body) => this.#service.remove(body)));
        }
      });
    });
  }

  async signOut(): Promise<void> {
    if (lacksSupport()) return;
    await this.#withLock(async () => {
      const { registration, body, bodies } = await this.#current();
      if (registration) {
        await clearHistory(registration.scope);
        if (body) await sendChoices(registration.scope, body, this.#service).catch(() => undefined);
        // forget choices that could not be sent, or they would apply to the next person who uses this browser
        await updateState(registration.scope, { formerBody: undefined, choices: undefined });
      }
      await Promise.all(bodies.map((each) => this.#service.signOut(each)));
    });
  }

  async state(): Promise<ClientState> {
    const missing = missingSupport();
    const permission = missing ? 'default' : Notification.permission;
    let obstacle = missing?.reason ?? (permission === 'denied' ? 'permission-denied' : undefined);
    let subscription: PushSubscription | undefined;
    try {
      if (!missing) ({ subscription } = await this.#current());
    } catch (error) {
      obstacle ??= (error as ClientError).reason;
    }
    return {
      obstacle,
      permission,
      subscription,
      isStored: this.#isStored(subscription),
    };
  }

  resync(): Promise<SyncResult> {
    return this.#change(async () => {
      if (lacksSupport()) return 'not-subscribed';
      return this.#withLock(async () => {
        const { subscription, storedBody } = await this.#current();
        // The browser is subscribed, or was until the push service dropped the subscription.
        const isWanted = subscription || (storedBody && Notification.permission === 'granted');
        if (!isWanted) return 'not-subscribed';
        // without `storedBody`, the service worker may be another provider's, which would not show our messages
        await this.#reconcile(false, storedBody === undefined);
        return this.#isStored(subscription) ? 'sent-again' : 'subscribed-anew';
      });
    });
  }

  channels(): Promise<readonly Channel[]> {
    return this.setChannels({});
  }

  async setChannels(choices: Choices): Promise<readonly Channel[]> {
    assertSupport();
    return this.#withLock(async () => {
      const { registration, body } = await this.#current();
      // Earlier choices that could not be sent go first, so that they never override the new choices.
      if (registration && body) await sendChoices(registration.scope, body, this.#service);
      const channels = body ? await this.#service.choose(body, choices) : undefined;
      // If the service does not know the subscription, it responds as if nothing had been chosen.
      if (channels?.every(({ name, isOn }) => choices[name] !== !isOn)) return channels;
      throw new ClientError('not-subscribed', 'The service has no subscription of this browser.');
    });
  }

  async history(): Promise<readonly HistoryEntry[]> {
    const scope = await this.#scope();
    return scope === undefined ? [] : readHistory(scope);
  }

  async markRead(): Promise<void> {
    const scope = await this.#scope();
    if (scope !== undefined) await markAsRead(scope);
  }

  messages(): AsyncIterableIterator<PushMessage> {
    lacksSupport();
    return streamMessages(this);
  }

  /** Runs one `work` at a time across all pages of this origin and its service worker. @throws {ClientError} */
  async #withLock<Result>(work: () => Promise<Result>): Promise<Result> {
    // a browser that refuses service workers refuses locks too, and does not say why
    await this.#worker.find();
    return navigator.locks.request(ownName, work);
  }

  async #scope(): Promise<string | undefined> {
    return lacksSupport() ? undefined : (await this.#worker.find())?.scope;
  }

  /** Runs the work and then announces that the state may have changed, even if the work failed. */
  async #change<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      this.dispatchEvent(new Event('change'));
    }
  }

  /** Not every browser can query the permission for notifications. */
  async #watchPermission(): Promise<void> {
    const query = navigator.permissions?.query({ name: 'notifications' });
    const permission = await query?.catch(() => undefined);
    permission?.addEventListener('change', () => this.dispatchEvent(new Event('change')));
  }

  #isStored(subscription: PushSubscription | undefined): boolean {
    return subscription !== undefined && subscriptionBody(subscription) === this.#service.storedBody;
  }

  /**
   * Returns the browser's subscription, and the request bodies of the subscriptions that the service may have. The
   * service may have two if its answer to a replacement was lost, or if the first could not be removed. Requests about
   * channels use `body`.
   */
  async #current() {
    const registration = await this.#worker.find();
    const subscription = (await registration?.pushManager.getSubscription()) ?? undefined;
    const { storedBody } = registration ? await readState(registration.scope) : {};
    const both = new Set([storedBody, subscription && subscriptionBody(subscription)]);
    const bodies = [...both].filter((body) => body !== undefined);
    const body = bodies.find((each) => each === this.#service.storedBody) ?? bodies[0];
    return { registration, subscription, storedBody, body, bodies };
  }

  #reconcile(isAsked: boolean, isNew = true): Promise<PushSubscription> {
    const register = async () => {
      const registration = await this.#worker.register();
      if (isAsked || isNew) await this.#worker.check(registration);
      const { pageUrl } = await readState(registration.scope);
      await updateState(registration.scope, {
        serviceUrl: this.#service.url.href,
        pageUrl: isAsked ? ownPageUrl() : (pageUrl ?? ownPageUrl()),
        ...(this.#historyLimit !== undefined && { historyLimit: this.#historyLimit }),
      });
      return registration;
    };
    return reconcile(register, this.#service);
  }

  /** Ignores messages of other registrations, which have their own pages on this origin. */
  async #deliver({ deskbell, scope }: Delivered): Promise<void> {
    const registration = await this.#worker.find();
    if (registration?.scope === scope) this.dispatchEvent(new MessageEvent('message', { data: deskbell }));
  }
}

/** True if there is nothing to do because this browser has no Web Push. @throws {ClientError} not-in-browser */
function lacksSupport(): boolean {
  if (!isInBrowser) assertSupport();
  return missingSupport() !== undefined;
}

/** The page's URL without query and fragment, because these may be secret or concern only this visit. */
function ownPageUrl(): string {
  const base = new URL(document.baseURI);
  const { origin, pathname } = base.origin === location.origin ? base : location;
  return origin + pathname;
}

/** Returns an async iterable of the page's messages, collected from this call until the loop ends. */
function streamMessages(client: EventTarget): AsyncIterableIterator<PushMessage> {
  const listening = new AbortController();
  const reader = new ReadableStream<PushMessage>({
    start: (controller) => {
      const enqueue = (event: Event) => controller.enqueue((event as MessageEvent<PushMessage>).data);
      client.addEventListener('message', enqueue, { signal: listening.signal });
    },
    cancel: () => listening.abort(),
  }).getReader();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => reader.read(),
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}
