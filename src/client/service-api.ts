// What a page asks of the Deskbell service: its key, and to store or remove a subscription. Every failure is on the
// browser's console as well.
import { ClientError, reported } from './client-error.ts';
import { type Fetch, requestService } from './request-service.ts';
import { defaultTimeoutMs } from './time-limit.ts';

/** A subscriber token of the application, for the person who is signed in; none where nobody is. */
type GetToken = () => string | undefined | Promise<string | undefined>;

export const jsonType = { 'content-type': 'application/json' };

/** How the service is asked; all of it has defaults. */
export interface ServiceApiOptions {
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

export class ServiceApi {
  readonly url: URL;
  readonly timeoutMs: number;
  /** Of the subscription that was stored last. */
  storedEndpoint: string | undefined;
  /** The token of an invitation, until a subscription was stored with it. */
  invitation: string | undefined;
  readonly #options: ServiceApiOptions;

  /** @param url a folder: it ends with a slash */
  constructor(url: URL, options: ServiceApiOptions = {}) {
    this.url = url;
    this.timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#options = options;
  }

  /** The key to subscribe with, as unpadded base64url. */
  async fetchVapidKey(): Promise<string> {
    // A new URL each time: a service worker of the site may answer from its cache, and would give a former key for ever.
    const response = await this.#request(`vapidKey?${Date.now()}`, { cache: 'no-store' });
    const vapidKey: unknown = await response.json().catch(() => undefined);
    if (typeof vapidKey === 'string') return vapidKey;
    throw refused(`${new URL('vapidKey', this.url).href} answered without a key`, response);
  }

  /** @param former what it takes the place of, as `subscriptionBody` makes it */
  async store(subscription: PushSubscription, vapidKey: string, former: string | undefined): Promise<void> {
    const token = await this.#options.token?.();
    await this.#request('webPush', {
      method: 'POST',
      headers: {
        ...jsonType,
        'deskbell-vapid-key': vapidKey,
        ...(former && { 'deskbell-former-subscription': former }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...(this.invitation && { 'deskbell-invitation': this.invitation }),
      },
      body: subscriptionBody(subscription),
    });
    this.storedEndpoint = subscription.endpoint;
    this.invitation = undefined;
  }

  async signOut(body: string): Promise<void> {
    await this.#request('webPush/user', { method: 'DELETE', headers: jsonType, body });
  }

  async remove(body: string): Promise<void> {
    await this.#request('webPush', { method: 'DELETE', headers: jsonType, body });
  }

  async #request(path: string, init: RequestInit): Promise<Response> {
    const url = new URL(path, this.url);
    const { method = 'GET' } = init;
    const name = `${method} ${url.origin}${url.pathname}`;
    let response: Response;
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      response = await requestService(url, { signal, ...init }, this.#options.fetch);
    } catch (cause) {
      throw reported(new ClientError('server-unreachable', `${name}: the service cannot be reached.`, cause));
    }
    if (response.ok) return response;
    // RFC 9457: `detail` says what was wrong with this very request.
    const problem = await response.json().catch(() => undefined);
    throw refused(`${name} answered ${response.status}`, response, problem?.detail ?? problem?.title);
  }
}

/** @param detail none where the answer is not the service's own */
function refused(
  what: string,
  { headers, status }: Response,
  detail = 'Check serviceUrl, the proxy and --prefix.',
): ClientError {
  const isHtml = headers.get('content-type')?.includes('html');
  const html =
    " with an HTML page, perhaps of the site's service worker, or of a server that answers unknown paths with index.html";
  return reported(
    new ClientError('server-refused', `${what}${isHtml ? html : ''}: ${detail}`, undefined, status),
  );
}

/** The body of `POST /webPush`: the three strings, as the service specifies them. */
export function subscriptionBody(subscription: PushSubscription): string {
  return JSON.stringify({
    endpoint: subscription.endpoint,
    p256dh: base64(subscription.getKey('p256dh')),
    auth: base64(subscription.getKey('auth')),
  });
}

/** Standard base64 with padding. */
export function base64(bytes: ArrayBuffer | null): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes ?? [])));
}
