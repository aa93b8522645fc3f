// The page's client: one object with the life cycle of this browser's subscription.
import { ClientError, type FailureReason } from './client-error.ts';
import { base64, type Fetch, ServiceApi } from './service-api.ts';
import { WorkerRegistration } from './worker-registration.ts';

/** A push message as this browser received it. Further members of the payload come along unchanged. */
export interface PushMessage {
  readonly title: string;
  readonly message: string;
  /** Milliseconds since 1970, by this browser's clock. */
  readonly receivedAtMs: number;
}

export interface ClientState {
  /** What stands in the way of subscribing, known without asking anyone. */
  readonly obstacle: FailureReason | undefined;
  readonly permission: NotificationPermission;
  readonly subscription: PushSubscription | undefined;
  /** True once the service has confirmed this very subscription since the page was loaded. */
  readonly isStored: boolean;
}

export interface ClientOptions {
  /** Where the Deskbell service is. Default: the page's own folder. */
  readonly serviceUrl?: string | URL;
  /** Where the service worker's script is, on the page's own origin. Default: `service-worker.js` beside the page. */
  readonly serviceWorkerUrl?: string | URL;
  /** How long to wait for the service, and for the push service. Default: 15 000. */
  readonly timeoutMs?: number;
  /** Replaces `fetch`, for instance to add a header that the service's `onSubscribe` hook looks at. */
  readonly fetch?: Fetch;
}

/** What the re-sync at page load found to do. */
export type SyncResult = 'not-subscribed' | 'sent-again' | 'subscribed-anew';

export interface Client extends EventTarget {
  /**
   * Asks for permission where that is needed, subscribes, and stores the subscription at the service. To be called
   * from a click. Does nothing twice: an existing subscription is sent again.
   *
   * @throws {ClientError}
   */
  subscribe(): Promise<PushSubscription>;
  /**
   * Ends the subscription and removes the service's copy. When the push service or the service cannot be told, this
   * browser is unsubscribed all the same, and the service drops its copy at the next send.
   *
   * @throws {ClientError}
   */
  unsubscribe(): Promise<void>;
  state(): Promise<ClientState>;
  /**
   * Compares the subscription's server key with the service's current one and subscribes anew where they differ, then
   * sends the subscription, which puts right whatever the service's copy is. Runs by itself at page load.
   *
   * @throws {ClientError}
   */
  resync(): Promise<SyncResult>;
  /** The re-sync of this page load. */
  readonly synced: Promise<SyncResult>;
  /** Every push message from now on; ends when the loop is left. */
  messages(): AsyncIterableIterator<PushMessage>;
  /** The same messages as events. */
  addEventListener(type: 'message', listener: (event: MessageEvent<PushMessage>) => void): void;
  addEventListener(...parameters: Parameters<EventTarget['addEventListener']>): void;
}

/** Makes the client and starts its re-sync; one per page. */
export function createClient(options: ClientOptions = {}): Client {
  // The class itself knows its one event only as EventTarget does: by any name.
  return new DeskbellClient(options) as Client;
}

class DeskbellClient extends EventTarget {
  readonly synced: Promise<SyncResult>;
  readonly #service: ServiceApi;
  readonly #worker: WorkerRegistration;
  readonly #timeoutMs: number;
  #storedEndpoint: string | undefined;

  constructor(options: ClientOptions) {
    super();
    const workerUrl = new URL(options.serviceWorkerUrl ?? 'service-worker.js', document.baseURI);
    const serviceUrl = new URL(options.serviceUrl ?? './', document.baseURI);
    if (!serviceUrl.pathname.endsWith('/')) serviceUrl.pathname += '/';
    if (serviceUrl.href !== new URL('./', workerUrl).href)
      workerUrl.searchParams.set('service', serviceUrl.href);
    this.#worker = new WorkerRegistration(workerUrl);
    this.#timeoutMs = options.timeoutMs ?? 15_000;
    this.#service = new ServiceApi(
      serviceUrl,
      this.#timeoutMs,
      options.fetch ?? ((url, init) => fetch(url, init)),
    );

    if (!missingSupport()) {
      navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent) => {
        if (data?.deskbell) this.dispatchEvent(new MessageEvent('message', { data: data.deskbell }));
      });
      navigator.serviceWorker.startMessages();
    }
    this.synced = this.resync();
    // Whoever does not look at `synced` has the console.
    this.synced.catch(() => undefined);
  }

  async subscribe(): Promise<PushSubscription> {
    const missing = missingSupport();
    if (missing) throw missing;
    // First of all, and outside the lock: browsers ask only while the click is fresh.
    const permission = await Notification.requestPermission();
    if (permission !== 'granted') throw permissionFailure(permission);
    return withLock(async () => {
      const vapidKey = await this.#service.fetchVapidKey();
      const { subscription } = await this.#reconcile(await this.#worker.findOrRegister(), vapidKey);
      return subscription;
    });
  }

  async unsubscribe(): Promise<void> {
    const missing = missingSupport();
    if (missing) throw missing;
    await withLock(async () => {
      const subscription = await this.#subscription();
      if (!subscription) return;
      try {
        await this.#atPushService(subscription.unsubscribe());
      } finally {
        await this.#service.remove(subscription);
      }
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
      const subscription = await registration?.pushManager.getSubscription();
      if (!registration || !subscription) return 'not-subscribed';
      const { isNew } = await this.#reconcile(registration, await this.#service.fetchVapidKey());
      return isNew ? 'subscribed-anew' : 'sent-again';
    });
  }

  messages(): AsyncIterableIterator<PushMessage> {
    const listening = new AbortController();
    const reader = new ReadableStream<PushMessage>({
      start: (controller) => {
        const take = (event: Event) => controller.enqueue((event as MessageEvent<PushMessage>).data);
        super.addEventListener('message', take, { signal: listening.signal });
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

  async #subscription(): Promise<PushSubscription | undefined> {
    return (await (await this.#worker.find())?.pushManager.getSubscription()) ?? undefined;
  }

  /** Makes browser, push service and Deskbell agree: one subscription, with the current key, stored. */
  async #reconcile(
    registration: ServiceWorkerRegistration,
    vapidKey: string,
  ): Promise<{ subscription: PushSubscription; isNew: boolean }> {
    const existing = await registration.pushManager.getSubscription();
    const isNew = !existing || !hasKey(existing, vapidKey);
    if (isNew && existing) await this.#atPushService(existing.unsubscribe());
    const subscription = isNew
      ? await this.#atPushService(
          registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: vapidKey }),
        )
      : existing;
    await this.#service.store(subscription);
    this.#storedEndpoint = subscription.endpoint;
    if (isNew && existing) await this.#service.remove(existing);
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

function missingSupport(): ClientError | undefined {
  if (!isSecureContext) {
    return new ClientError('insecure-context', 'Push needs https, or http on localhost.');
  }
  if ('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window) return undefined;
  return new ClientError('no-support', 'This browser has no Web Push.');
}

function permissionFailure(permission: 'denied' | 'default', cause?: unknown): ClientError {
  return permission === 'denied'
    ? new ClientError('permission-denied', 'Notifications are blocked for this site.', cause)
    : new ClientError(
        'permission-dismissed',
        'The question about notifications was closed unanswered.',
        cause,
      );
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

function hasKey(subscription: PushSubscription, vapidKey: string): boolean {
  const key = base64(subscription.options.applicationServerKey);
  return key.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') === vapidKey;
}
