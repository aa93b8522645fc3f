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
    const response = await this.#request('vapidKey', {});
    const vapidKey: unknown = await response.json().catch(() => undefined);
    if (typeof vapidKey === 'string') return vapidKey;
    throw reported(new ClientError('server-refused', `${this.url.href}vapidKey did not answer with a key.`));
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
    let response: Response;
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      response = await requestService(new URL(path, this.url), { signal, ...init }, this.#options.fetch);
    } catch (cause) {
      throw reported(new ClientError('server-unreachable', `${this.url.host} cannot be reached.`, cause));
    }
    if (response.ok) return response;
    // RFC 9457: `detail` says what was wrong with this very request.
    const problem = await response.json().catch(() => undefined);
    const detail = problem?.detail ?? problem?.title ?? 'It did not say why.';
    throw reported(
      new ClientError(
        'server-refused',
        `${this.url.host} answered ${response.status}: ${detail}`,
        undefined,
        response.status,
      ),
    );
  }
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
