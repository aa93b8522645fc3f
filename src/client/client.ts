// The page's client: one object with the life cycle of this browser's subscription.
import { ClientError, type FailureReason } from './client-error.ts';
import { streamMessages } from './message-stream.ts';
import type { PushMessage } from './push-message.ts';
import { resolveAddress } from './resolve-address.ts';
import {
  type Channel,
  type Choices,
  ServiceApi,
  type ServiceApiOptions,
  subscriptionBody,
} from './service-api.ts';
import { readState, updateState } from './stored-state.ts';
import { atPushService, ownName, reconcile, sendChoices } from './subscription.ts';
import { assertSupport, missingSupport, permissionDenied } from './support.ts';
import { WorkerRegistration } from './worker-registration.ts';

/** Where this browser stands. */
export interface ClientState {
  /** Why this browser cannot be subscribed, as far as it is known without a request. */
  readonly obstacle: FailureReason | undefined;
  /** Whether the user permits notifications; `default` where the browser has not asked yet. */
  readonly permission: NotificationPermission;
  /** The browser's subscription, whether the service has it or not. */
  readonly subscription: PushSubscription | undefined;
  /** True once the service has confirmed this very subscription since the page was loaded. */
  readonly isStored: boolean;
}

/** All of them have defaults. */
export interface ClientOptions extends ServiceApiOptions {
  /** Where the Deskbell service is. Default: the page's own folder. */
  readonly serviceUrl?: string | URL;
  /**
   * Where the service worker's script is, on the page's own origin; registered here where the site does not. Default: the
   * service worker that controls the page, or `service-worker.js` beside the page where none does.
   */
  readonly serviceWorkerUrl?: string | URL;
}

/** Of `subscribe`. */
export interface SubscribeOptions {
  /** The token of an invitation (`deskbell invite`): the subscription becomes that of the person whom it invites. */
  readonly invitation?: string | undefined;
}

/** What the re-sync at page load did. */
export type SyncResult = 'not-subscribed' | 'sent-again' | 'subscribed-anew';

/** This browser's subscription, and the push messages that arrive for it. */
export interface Client extends EventTarget {
  /**
   * Asks for permission where that is needed, subscribes, and stores the subscription at the service. Call it from a
   * click. An existing subscription is sent again. A new one that the service refuses (400, 401, 403) is ended again.
   *
   * @throws {ClientError}
   */
  subscribe(options?: SubscribeOptions): Promise<PushSubscription>;
  /**
   * Ends the subscription and removes the service's copy. If a server cannot be reached, this browser is unsubscribed
   * anyway, and the service removes its copy at the next send.
   *
   * @throws {ClientError}
   */
  unsubscribe(): Promise<void>;
  /**
   * Makes the subscription anonymous: the service's copy has no user and tags any more. `token` should give nothing from
   * then on.
   *
   * @throws {ClientError}
   */
  signOut(): Promise<void>;
  /**
   * The channels that there are, each on or off for whoever reads this browser's subscription: the person who is signed in, or
   * this browser alone. Needs a service that lets readers choose.
   *
   * @throws {ClientError} `not-subscribed` where this browser has no subscription
   */
  channels(): Promise<readonly Channel[]>;
  /**
   * Switches channels on or off, by their names; the others stay as they are.
   *
   * @example
   * await client.setChannels({ news: false });
   * @returns all channels, as they are then
   * @throws {ClientError} `not-subscribed` also where the service has no such subscription any more
   */
  setChannels(choices: Choices): Promise<readonly Channel[]>;
  /** Reads where this browser stands, without a request. */
  state(): Promise<ClientState>;
  /**
   * Subscribes anew where the service has another key now or the push service has dropped the subscription, and sends
   * the subscription, so that the service's copy is right. Runs by itself at page load; to be called when somebody has
   * signed in without one.
   *
   * @throws {ClientError}
   */
  resync(): Promise<SyncResult>;
  /** The re-sync of this page load; rejects with a `ClientError`. */
  readonly synced: Promise<SyncResult>;
  /** Every push message from now on; ends when the loop is left, or with `return()`. */
  messages(): AsyncIterableIterator<PushMessage>;
  /** The same messages as events. */
  addEventListener(type: 'message', listener: (event: MessageEvent<PushMessage>) => void): void;
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
] satisfies readonly (keyof ClientOptions)[];

/**
 * Makes the client and starts its re-sync. Call it once per page, at module level.
 *
 * @example
 * const client = createClient({ serviceUrl: '/push/' });
 * button.onclick = () => client.subscribe();
 * for await (const { title, message } of client.messages()) console.log(title, message);
 * @throws {TypeError} names an option that is unknown, and those that there are
 */
export function createClient(options: ClientOptions = {}): Client {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown) throw new TypeError(`"${unknown}" is unknown; there are ${optionNames.join(', ')}.`);
  // The class itself knows its one event only as EventTarget does: by any name.
  return new DeskbellClient(options) as Client;
}

/** What the service worker passes on. */
interface Delivered {
  readonly deskbell: PushMessage;
  readonly scope: string;
}

class DeskbellClient extends EventTarget {
  readonly synced: Promise<SyncResult>;
  readonly #service: ServiceApi;
  readonly #worker: WorkerRegistration;
  /** Of the last message, so that they come in their order. */
  #delivery: Promise<void> = Promise.resolve();

  constructor(options: ClientOptions) {
    super();
    const { serviceUrl = './', serviceWorkerUrl } = options;
    const service = resolveAddress(serviceUrl);
    if (!service.pathname.endsWith('/')) service.pathname += '/';
    this.#service = new ServiceApi(service, options);
    const scriptUrl = serviceWorkerUrl === undefined ? undefined : resolveAddress(serviceWorkerUrl);
    this.#worker = new WorkerRegistration(scriptUrl, this.#service.timeoutMs);

    if (!missingSupport()) {
      navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent) => {
        if (data?.deskbell) this.#delivery = this.#delivery.then(() => this.#deliver(data));
      });
      navigator.serviceWorker.startMessages();
    }
    this.synced = this.resync();
    // The console has failures as well, so a page need not look at `synced`.
    this.synced.catch(() => undefined);
  }

  async subscribe({ invitation }: SubscribeOptions = {}): Promise<PushSubscription> {
    assertSupport();
    // Before anything that waits: browsers ask only shortly after a click.
    const permission = await Notification.requestPermission();
    if (permission === 'denied') throw permissionDenied();
    if (permission !== 'granted') {
      throw new ClientError('permission-dismissed', 'The question about notifications was closed.');
    }
    return withLock(async () => {
      this.#service.invitation = invitation;
      return this.#reconcile(true);
    });
  }

  async unsubscribe(): Promise<void> {
    assertSupport();
    await withLock(async () => {
      const { registration, subscription, body } = await this.#current();
      if (registration) await updateState(registration.scope, { storedBody: undefined });
      try {
        if (subscription) await atPushService(subscription.unsubscribe(), this.#service.timeoutMs);
      } finally {
        if (body) await this.#service.remove(body);
      }
    });
  }

  async signOut(): Promise<void> {
    if (missingSupport()) return;
    await withLock(async () => {
      const { body } = await this.#current();
      if (body) await this.#service.remove(body, 'webPush/user');
    });
  }

  async state(): Promise<ClientState> {
    const missing = missingSupport();
    const permission = missing ? 'default' : Notification.permission;
    const subscription = missing ? undefined : (await this.#current()).subscription;
    return {
      obstacle: missing?.reason ?? (permission === 'denied' ? 'permission-denied' : undefined),
      permission,
      subscription,
      isStored: this.#isStored(subscription),
    };
  }

  async resync(): Promise<SyncResult> {
    if (missingSupport()) return 'not-subscribed';
    return withLock(async () => {
      const { subscription, storedBody } = await this.#current();
      // This browser is subscribed, or was until the push service dropped the subscription.
      const isWanted = subscription || (storedBody && Notification.permission === 'granted');
      if (!isWanted) return 'not-subscribed';
      await this.#reconcile(false);
      return this.#isStored(subscription) ? 'sent-again' : 'subscribed-anew';
    });
  }

  channels(): Promise<readonly Channel[]> {
    return this.setChannels({});
  }

  async setChannels(choices: Choices): Promise<readonly Channel[]> {
    assertSupport();
    return withLock(async () => {
      const { registration, body } = await this.#current();
      // A page load may have failed to send what was turned off: it would undo what is chosen now.
      if (registration && body) await sendChoices(registration.scope, body, this.#service);
      const channels = body ? await this.#service.choose(body, choices) : undefined;
      // It does not say that it does not know a subscription: it answers as it does to those who have chosen nothing.
      if (channels?.every(({ name, isOn }) => choices[name] !== !isOn)) return channels;
      throw new ClientError('not-subscribed', 'The service has no subscription of this browser.');
    });
  }

  messages(): AsyncIterableIterator<PushMessage> {
    return streamMessages(this);
  }

  #isStored(subscription: PushSubscription | undefined): boolean {
    return subscription !== undefined && subscriptionBody(subscription) === this.#service.storedBody;
  }

  /** The browser's subscription, and the body by which the service knows it, or the one before. */
  async #current() {
    const registration = await this.#worker.find();
    const subscription = (await registration?.pushManager.getSubscription()) ?? undefined;
    const { storedBody } = registration ? await readState(registration.scope) : {};
    const body = storedBody ?? (subscription && subscriptionBody(subscription));
    return { registration, subscription, storedBody, body };
  }

  /** @param isAsked somebody subscribes now, on this page */
  #reconcile(isAsked: boolean): Promise<PushSubscription> {
    const register = async () => {
      const registration = await this.#worker.register();
      if (isAsked) await this.#worker.check(registration);
      const { pageUrl } = await readState(registration.scope);
      await updateState(registration.scope, {
        serviceUrl: this.#service.url.href,
        pageUrl: isAsked ? ownPageUrl() : (pageUrl ?? ownPageUrl()),
      });
      return registration;
    };
    return reconcile(register, this.#service);
  }

  /** Other registrations of this origin have pages of their own. */
  async #deliver({ deskbell, scope }: Delivered): Promise<void> {
    const registration = await this.#worker.find();
    if (registration?.scope === scope) this.dispatchEvent(new MessageEvent('message', { data: deskbell }));
  }
}

/** Without what may be secret in it, and what is of this visit alone. */
function ownPageUrl(): string {
  const base = new URL(document.baseURI);
  const { origin, pathname } = base.origin === location.origin ? base : location;
  return origin + pathname;
}

/** One at a time, over all pages of this origin and its service worker. */
function withLock<Result>(work: () => Promise<Result>): Promise<Result> {
  return navigator.locks.request(ownName, work);
}
