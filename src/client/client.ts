// The page's client: one object with the life cycle of this browser's subscription.
import { ClientError, type FailureReason } from './client-error.ts';
import { streamMessages } from './message-stream.ts';
import type { PushMessage } from './push-message.ts';
import { base64, type Fetch, type GetToken, ServiceApi, subscriptionBody } from './service-api.ts';
import { StoredCopy } from './stored-copy.ts';
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
export interface ClientOptions {
  /** Where the Deskbell service is. Default: the page's own folder. */
  readonly serviceUrl?: string | URL;
  /** Where the service worker's script is, on the page's own origin. Default: `service-worker.js` beside the page. */
  readonly serviceWorkerUrl?: string | URL;
  /** Time limit of each request to the service and to the push service, in milliseconds. Default: 15 000. */
  readonly timeoutMs?: number;
  /** Replaces `fetch`, for instance to add a header that the service's `onSubscribe` hook looks at. */
  readonly fetch?: Fetch;
  /**
   * Gives a subscriber token, which says whose the subscription is, whenever the subscription is sent to the service; or
   * nothing, and the service's copy stays whose it is. A fresh one each time: it is valid for an hour at most.
   * What it throws, `subscribe` and `resync` reject with.
   */
  readonly token?: GetToken;
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
  subscribe(): Promise<PushSubscription>;
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

const defaults: Required<ClientOptions> = {
  serviceUrl: './',
  serviceWorkerUrl: 'service-worker.js',
  timeoutMs: 15_000,
  fetch: (url, init) => fetch(url, init),
  token: () => undefined,
};

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
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(defaults, name));
  if (unknown) throw new TypeError(`"${unknown}" is unknown; there are ${Object.keys(defaults).join(', ')}.`);
  // The class itself knows its one event only as EventTarget does: by any name.
  return new DeskbellClient(options) as Client;
}

interface Reconciled {
  readonly subscription: PushSubscription;
  readonly isNew: boolean;
}

class DeskbellClient extends EventTarget {
  readonly synced: Promise<SyncResult>;
  readonly #service: ServiceApi;
  readonly #worker: WorkerRegistration;
  readonly #storedCopy: StoredCopy;
  readonly #timeoutMs: number;
  #storedEndpoint: string | undefined;

  constructor(options: ClientOptions) {
    super();
    const workerUrl = new URL(options.serviceWorkerUrl ?? defaults.serviceWorkerUrl, document.baseURI);
    const serviceUrl = new URL(options.serviceUrl ?? defaults.serviceUrl, document.baseURI);
    if (!serviceUrl.pathname.endsWith('/')) serviceUrl.pathname += '/';
    this.#worker = new WorkerRegistration(workerUrl, serviceUrl);
    this.#storedCopy = new StoredCopy(this.#worker.scope);
    this.#timeoutMs = options.timeoutMs ?? defaults.timeoutMs;
    this.#service = new ServiceApi(
      serviceUrl,
      this.#timeoutMs,
      options.fetch ?? defaults.fetch,
      options.token ?? defaults.token,
    );

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

  async subscribe(): Promise<PushSubscription> {
    const missing = missingSupport();
    if (missing) throw missing;
    // Before anything that waits: browsers ask only shortly after a click.
    const permission = await Notification.requestPermission();
    if (permission !== 'granted') throw permissionFailure(permission);
    return withLock(async () => {
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
        if (subscription) await this.#atPushService(subscription.unsubscribe());
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
      isStored: subscription !== undefined && subscription.endpoint === this.#storedEndpoint,
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

  /** Makes browser, push service and Deskbell agree: one subscription, with the current key, stored. */
  async #reconcile(): Promise<Reconciled> {
    const vapidKey = await this.#service.fetchVapidKey();
    const registration = await this.#worker.register();
    try {
      return await this.#reconcileWith(vapidKey, registration);
    } catch (error) {
      // The service has another key by now, or knows the endpoint with other keys: only a new subscription can be stored.
      if ((error as ClientError).status !== 409) throw error;
      return this.#reconcileWith(await this.#service.fetchVapidKey(), registration, true);
    }
  }

  async #reconcileWith(
    vapidKey: string,
    { pushManager }: ServiceWorkerRegistration,
    isRefused = false,
  ): Promise<Reconciled> {
    const existing = await pushManager.getSubscription();
    const isNew = isRefused || !existing || !isUsable(existing, vapidKey);
    if (isNew && existing) await this.#atPushService(existing.unsubscribe());
    const subscription = isNew
      ? await this.#atPushService(
          pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: vapidKey }),
        )
      : existing;

    const body = subscriptionBody(subscription);
    const known = (await this.#storedCopy.read()) || (existing && subscriptionBody(existing));
    const former = known && known !== body ? known : undefined;
    await this.#service.store(body, vapidKey, former);
    this.#storedEndpoint = subscription.endpoint;
    if (former) await this.#service.remove(former);
    await this.#storedCopy.write(body);
    return { subscription, isNew };
  }

  async #atPushService<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await withTimeout(this.#timeoutMs, work);
    } catch (cause) {
      if ((cause as Error).name === 'NotAllowedError') throw permissionFailure('denied', cause);
      throw new ClientError(
        'push-service-unreachable',
        "The browser's push service cannot be reached.",
        cause,
      );
    }
  }
}

/** One at a time, over all pages of this origin and its service worker. */
function withLock<Result>(work: () => Promise<Result>): Promise<Result> {
  return navigator.locks.request('deskbell', work);
}

/** Chromium waits without end for a push service that is away. */
function withTimeout<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer within ${timeoutMs} ms.`)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A subscription that Chromium has given up for good keeps its keys and gets an endpoint on this host. */
const removedHost = 'permanently-removed.invalid';

function isUsable({ endpoint, options }: PushSubscription, vapidKey: string): boolean {
  const key = base64(options.applicationServerKey);
  return (
    key.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') === vapidKey &&
    new URL(endpoint).host !== removedHost
  );
}
