// The page's side of Deskbell: subscribes this browser, keeps the server's copy of the subscription right, and hands
// the page each push message as it arrives. Self-contained; what is shown on the desktop is the service worker's part.

/** Why something did not work; `ClientError.message` says the same in words. */
export type FailureReason =
  | 'no-support'
  | 'insecure-context'
  | 'permission-denied'
  | 'permission-dismissed'
  | 'service-worker-failed'
  | 'push-service-unreachable'
  | 'server-unreachable'
  | 'server-refused';

export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

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
  readonly fetch?: (url: URL, init: RequestInit) => Promise<Response>;
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
  readonly #service: URL;
  readonly #workerUrl: URL;
  readonly #scope: string;
  readonly #timeoutMs: number;
  readonly #fetch: (url: URL, init: RequestInit) => Promise<Response>;
  #storedEndpoint: string | undefined;

  constructor(options: ClientOptions) {
    super();
    this.#workerUrl = new URL(options.serviceWorkerUrl ?? 'service-worker.js', document.baseURI);
    this.#scope = new URL('./', this.#workerUrl).href;
    this.#service = new URL(options.serviceUrl ?? './', document.baseURI);
    if (!this.#service.pathname.endsWith('/')) this.#service.pathname += '/';
    if (this.#service.href !== this.#scope) this.#workerUrl.searchParams.set('service', this.#service.href);
    this.#timeoutMs = options.timeoutMs ?? 15_000;
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));

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
    return alone(async () => {
      const vapidKey = await this.#fetchVapidKey();
      const { subscription } = await this.#align(await this.#register(), vapidKey);
      return subscription;
    });
  }

  async unsubscribe(): Promise<void> {
    const missing = missingSupport();
    if (missing) throw missing;
    await alone(async () => {
      const subscription = await this.#subscription();
      if (!subscription) return;
      try {
        await this.#atPushService(subscription.unsubscribe());
      } finally {
        await this.#send('DELETE', subscription);
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
    return alone(async () => {
      const registration = await this.#registration();
      const subscription = await registration?.pushManager.getSubscription();
      if (!registration || !subscription) return 'not-subscribed';
      const { isNew } = await this.#align(registration, await this.#fetchVapidKey());
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

  async #registration(): Promise<ServiceWorkerRegistration | undefined> {
    const registration = await navigator.serviceWorker.getRegistration(this.#scope);
    // A wider one belongs to somebody else.
    return registration?.scope === this.#scope ? registration : undefined;
  }

  async #subscription(): Promise<PushSubscription | undefined> {
    return (await (await this.#registration())?.pushManager.getSubscription()) ?? undefined;
  }

  async #register(): Promise<ServiceWorkerRegistration> {
    try {
      const registration = await navigator.serviceWorker.register(this.#workerUrl, { scope: this.#scope });
      if (!registration.active) await activation(registration.installing ?? registration.waiting!);
      return registration;
    } catch (cause) {
      throw new ClientError(
        'service-worker-failed',
        `The service worker ${this.#workerUrl.pathname} could not be started.`,
        cause,
      );
    }
  }

  /** Makes browser, push service and Deskbell agree: one subscription, with the current key, stored. */
  async #align(
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
    await this.#send('POST', subscription);
    this.#storedEndpoint = subscription.endpoint;
    if (isNew && existing) await this.#send('DELETE', existing);
    return { subscription, isNew };
  }

  async #atPushService<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await within(this.#timeoutMs, work);
    } catch (cause) {
      if ((cause as Error).name === 'NotAllowedError') throw permissionFailure('denied', cause);
      throw new ClientError(
        'push-service-unreachable',
        "The browser's push service cannot be reached.",
        cause,
      );
    }
  }

  async #fetchVapidKey(): Promise<string> {
    const response = await this.#request('vapidKey', {});
    const vapidKey: unknown = await response.json().catch(() => undefined);
    if (typeof vapidKey === 'string') return vapidKey;
    throw this.#report(
      new ClientError('server-refused', `${this.#service.href}vapidKey did not answer with a key.`),
    );
  }

  /** Stores (POST) or removes (DELETE) the subscription at the service. */
  async #send(method: 'POST' | 'DELETE', subscription: PushSubscription): Promise<void> {
    await this.#request('webPush', {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        endpoint: subscription.endpoint,
        p256dh: base64(subscription.getKey('p256dh')),
        auth: base64(subscription.getKey('auth')),
      }),
    });
  }

  async #request(path: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await this.#fetch(new URL(path, this.#service), {
        // Nothing here acts for a signed-in user, so no cookie goes along that could be abused.
        credentials: 'omit',
        signal: AbortSignal.timeout(this.#timeoutMs),
        ...init,
      });
    } catch (cause) {
      throw this.#report(
        new ClientError('server-unreachable', `${this.#service.host} cannot be reached.`, cause),
      );
    }
    if (response.ok) return response;
    // RFC 9457: `detail` says what was wrong with this very request.
    const problem = await response.json().catch(() => undefined);
    const detail = problem?.detail ?? problem?.title ?? 'It did not say why.';
    throw this.#report(
      new ClientError('server-refused', `${this.#service.host} answered ${response.status}: ${detail}`),
    );
  }

  #report(failure: ClientError): ClientError {
    console.error('Deskbell:', failure.message, failure.cause ?? '');
    return failure;
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
function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  return navigator.locks.request('deskbell', work);
}

/** Chromium subscribes only with an active service worker. */
function activation(serviceWorker: ServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    serviceWorker.addEventListener('statechange', () => {
      if (serviceWorker.state === 'activated') resolve();
      if (serviceWorker.state === 'redundant') reject(new Error('It failed while it was installed.'));
    });
  });
}

/** Chromium waits without end for a push service that is away. */
function within<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No answer within ${timeoutMs} ms.`)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Standard base64 with padding. */
function base64(bytes: ArrayBuffer | null): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes ?? [])));
}

function hasKey(subscription: PushSubscription, vapidKey: string): boolean {
  const key = base64(subscription.options.applicationServerKey);
  return key.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') === vapidKey;
}
