// The page's client: one object with the life cycle of this browser's subscription.
import type { FailureReason } from './client-error.ts';
import { streamMessages } from './message-stream.ts';
import type { PushMessage } from './push-message.ts';
import { ServiceApi, type ServiceApiOptions, subscriptionBody } from './service-api.ts';
import { StoredCopy } from './stored-copy.ts';
import { atPushService, ownName, reconcile, type Subscribed } from './subscription.ts';
import { missingSupport, permissionFailure } from './support.ts';
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
  /** Where the service worker's script is, on the page's own origin. Default: `service-worker.js` beside the page. */
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
   * click. An existing subscription is sent again.
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
  /** Every push message from now on; ends when the loop is left. */
  messages(): AsyncIterableIterator<PushMessage>;
  /** The same messages as events. */
  addEventListener(type: 'message', listener: (event: MessageEvent<PushMessage>) => void): void;
  addEventListener(...parameters: Parameters<EventTarget['addEventListener']>): void;
}

const optionNames: readonly string[] = [
  'serviceUrl',
  'serviceWorkerUrl',
  'timeoutMs',
  'fetch',
  'token',
] satisfies readonly (keyof ClientOptions)[];

/**
 * Makes the client and starts its re-sync; one per page.
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

class DeskbellClient extends EventTarget {
  readonly synced: Promise<SyncResult>;
  readonly #service: ServiceApi;
  readonly #worker: WorkerRegistration;
  readonly #storedCopy: StoredCopy;

  constructor(options: ClientOptions) {
    super();
    const { serviceUrl = './', serviceWorkerUrl = 'service-worker.js' } = options;
    const service = new URL(serviceUrl, document.baseURI);
    if (!service.pathname.endsWith('/')) service.pathname += '/';
    this.#worker = new WorkerRegistration(new URL(serviceWorkerUrl, document.baseURI), service);
    this.#storedCopy = new StoredCopy(this.#worker.scope);
    this.#service = new ServiceApi(service, options);

    if (!missingSupport()) {
      navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent) => {
        if (data?.deskbell) this.dispatchEvent(new MessageEvent('message', { data: data.deskbell }));
      });
      navigator.serviceWorker.startMessages();
    }
    this.synced = this.resync();
    // The console has failures as well, so a page need not look at `synced`.
    this.synced.catch(() => undefined);
  }

  async subscribe({ invitation }: SubscribeOptions = {}): Promise<PushSubscription> {
    const missing = missingSupport();
    if (missing) throw missing;
    // Before anything that waits: browsers ask only shortly after a click.
    const permission = await Notification.requestPermission();
    if (permission !== 'granted') throw permissionFailure(permission);
    return withLock(async () => {
      this.#service.invitation = invitation;
      const { subscription } = await this.#reconcile();
      return subscription;
    });
  }

  async unsubscribe(): Promise<void> {
    const missing = missingSupport();
    if (missing) throw missing;
    await withLock(async () => {
      const subscription = await this.#subscription();
      const copy = await this.#storedCopy.read();
      if (!subscription && copy === undefined) return;
      const body = copy || (subscription && subscriptionBody(subscription));
      await this.#storedCopy.forget();
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
      const subscription = await this.#subscription();
      const body = (await this.#storedCopy.read()) || (subscription && subscriptionBody(subscription));
      if (body) await this.#service.signOut(body);
    });
  }

  async state(): Promise<ClientState> {
    const missing = missingSupport();
    if (missing)
      return { obstacle: missing.reason, permission: 'default', subscription: undefined, isStored: false };
    const { permission } = Notification;
    const subscription = await this.#subscription();
    return {
      obstacle: permission === 'denied' ? 'permission-denied' : undefined,
      permission,
      subscription,
      isStored: subscription !== undefined && subscription.endpoint === this.#service.storedEndpoint,
    };
  }

  async resync(): Promise<SyncResult> {
    if (missingSupport()) return 'not-subscribed';
    return withLock(async () => {
      const registration = await this.#worker.find();
      if (!registration || !(await this.#isWanted(registration))) return 'not-subscribed';
      const { isNew } = await this.#reconcile();
      return isNew ? 'subscribed-anew' : 'sent-again';
    });
  }

  messages(): AsyncIterableIterator<PushMessage> {
    return streamMessages(this);
  }

  async #subscription(): Promise<PushSubscription | undefined> {
    return (await (await this.#worker.find())?.pushManager.getSubscription()) ?? undefined;
  }

  /** Whether this browser is subscribed, or was until the push service dropped the subscription. */
  async #isWanted({ pushManager }: ServiceWorkerRegistration): Promise<boolean> {
    if (await pushManager.getSubscription()) return true;
    return Notification.permission === 'granted' && (await this.#storedCopy.read()) !== undefined;
  }

  #reconcile(): Promise<Subscribed> {
    return reconcile(() => this.#worker.register(), this.#service, this.#storedCopy);
  }
}

/** One at a time, over all pages of this origin and its service worker. */
function withLock<Result>(work: () => Promise<Result>): Promise<Result> {
  return navigator.locks.request(ownName, work);
}
