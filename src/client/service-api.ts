// The page's requests to the Deskbell service. Every failure is also reported on the browser's console.
import { ClientError, reported } from './client-error.ts';
import { defaultTimeoutMs, withTimeLimit } from './time-limit.ts';

type GetToken = () => string | undefined | Promise<string | undefined>;

type HeaderFields = Readonly<Record<string, string>>;

export const jsonType = { 'content-type': 'application/json' };

/** A person's choices of channels, by name: on or off. */
export type Choices = Readonly<Record<string, boolean>>;

/** A channel that a person can switch on and off. */
export interface Channel {
  readonly name: string;
  /** The title in the browser's language. If there is none, the channel's default title. */
  readonly title: string;
  /** The language of the title (BCP 47), if known. */
  readonly language?: string;
  /** Whether this browser's reader gets the channel's messages. */
  readonly isOn: boolean;
}

export interface ServiceApiOptions {
  /**
   * Time limit in milliseconds. It applies separately to each request to the service or the push service, to each call
   * of `token`, and to the installation of the service worker. Default: 15 000.
   */
  readonly timeoutMs?: number;
  /** Replaces `fetch`, for example to add a header for the service's `onSubscribe` hook. */
  readonly fetch?: Fetch;
  /**
   * Called whenever the subscription is sent. Returns a fresh subscriber token (valid for an hour at most), which names
   * the user and tags, or nothing to leave both unchanged. If it throws, `subscribe`, `resync`, `channels` and
   * `setChannels` reject with its error. They also reject if it takes longer than `timeoutMs`.
   */
  readonly token?: GetToken;
}

export class ServiceApi {
  readonly url: URL;
  readonly timeoutMs: number;
  storedBody: string | undefined;
  /** The token of an invitation that has not been used yet. */
  invitation: string | undefined;
  readonly #options: ServiceApiOptions;

  /** @param url the address of a folder, which must end with a slash */
  constructor(url: URL, options: ServiceApiOptions = {}) {
    this.url = url;
    this.timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#options = options;
  }

  /** The key to subscribe with, as unpadded base64url. */
  fetchVapidKey(): Promise<string> {
    // The URL is new each time: a service worker that caches responses would always return the old key.
    return this.#request('GET', `vapidKey?${Date.now()}`, isKey) as Promise<string>;
  }

  /** @param body from `subscriptionBody` @param former the body that `body` replaces */
  async store(body: string, vapidKey: string, former: string | null | undefined): Promise<void> {
    const { language } = navigator;
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const headers = {
      'deskbell-vapid-key': vapidKey,
      ...(former && { 'deskbell-former-subscription': former }),
      ...(this.invitation && { 'deskbell-invitation': this.invitation }),
    };
    await this.#post('webPush', isString, body, { language, timeZone }, headers);
    this.storedBody = body;
    this.invitation = undefined;
  }

  remove(body: string): Promise<unknown> {
    return this.#delete('webPush', 'webPush/unsubscribe', body);
  }

  signOut(body: string): Promise<unknown> {
    return this.#delete('webPush/user', 'webPush/sign-out', body);
  }

  /** Some proxies drop the body of a DELETE or refuse it, so POST is tried next. */
  async #delete(path: string, postPath: string, body: string): Promise<unknown> {
    const ask = (method: string, at: string) => this.#ask(method, at, isNothing, jsonType, body);
    return ask('DELETE', path).catch((error: ClientError) =>
      ask('POST', postPath).catch(() => {
        throw reported(error);
      }),
    );
  }

  /** Changes choices, and returns all channels of the subscription's reader. @param body from `subscriptionBody` */
  choose(body: string, choices?: Choices): Promise<readonly Channel[]> {
    return this.#post('webPush/channels', Array.isArray, body, { choices }) as Promise<readonly Channel[]>;
  }

  async #post(
    path: string,
    isAnswer: (answer: unknown) => boolean,
    body: string,
    further: object,
    headers?: HeaderFields,
  ): Promise<unknown> {
    const token = await withTimeLimit(this.timeoutMs, this.#options.token?.(), 'token');
    const all = { ...jsonType, ...headers, ...(token && { authorization: `Bearer ${token}` }) };
    return this.#request('POST', path, isAnswer, all, JSON.stringify({ ...JSON.parse(body), ...further }));
  }

  #request(...request: Question): Promise<unknown> {
    return this.#ask(...request).catch((error: ClientError) => {
      throw reported(error);
    });
  }

  /** @param isAnswer checks the response's JSON (undefined without a body), because a login page may return 200 too */
  async #ask(...[method, path, isAnswer, headers, body]: Question): Promise<unknown> {
    const url = new URL(path, this.url);
    const name = `${method} ${url.origin}${url.pathname}`;
    let response: Response;
    let answer: any;
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      const init = { method, headers, body, signal };
      const asking = requestService(url, init as RequestInit, this.#options.fetch);
      // the page's own `fetch` may ignore the signal
      [response, answer] = await withTimeLimit(this.timeoutMs, readAnswer(asking));
    } catch (cause) {
      throw new ClientError('server-unreachable', `${name}: the service cannot be reached.`, cause);
    }
    const { ok, status } = response;
    if (ok && isAnswer(answer)) return answer;
    const what = ok ? `${status} without what the service answers` : status;
    const isHtml = response.headers.get('content-type')?.includes('html');
    const html = isHtml
      ? " with an HTML page, perhaps of the site's service worker, or of a server that answers unknown paths with index.html"
      : '';
    const detail = answer?.detail ?? 'Check serviceUrl, the proxy and --prefix.';
    throw new ClientError('server-refused', `${name} answered ${what}${html}: ${detail}`, undefined, status);
  }
}

type Question = [
  method: string,
  path: string,
  isAnswer: (answer: unknown) => boolean,
  headers?: HeaderFields,
  body?: string,
];

const isString = (answer: unknown): boolean => typeof answer === 'string';
const isNothing = (answer: unknown): boolean => answer === undefined;
/** Whether the answer is a VAPID key in base64url: 65 bytes, of which the first is 4. */
const isKey = (answer: unknown): boolean => isString(answer) && /^B[\w-]{86}$/.test(answer as string);

/** Returns null as the answer if the body is not JSON, or undefined if the body is empty. */
async function readAnswer(asking: Promise<Response>): Promise<[response: Response, answer: any]> {
  const response = await asking;
  const text = await response.text();
  try {
    return [response, text === '' ? undefined : JSON.parse(text)];
  } catch {
    return [response, null];
  }
}

/** The three strings that identify a subscription at the service. */
export function subscriptionBody(subscription: PushSubscription): string {
  return JSON.stringify({
    endpoint: subscription.endpoint,
    p256dh: base64(subscription.getKey('p256dh')),
    auth: base64(subscription.getKey('auth')),
  });
}

export function base64(bytes: ArrayBuffer | null): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes!)));
}

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/**
 * Sends a request to the service, from the page or the service worker. Cookies are sent only to this origin, so that
 * the application sees its session. If the cookies include Deskbell's own session cookie, the service asks for a CSRF
 * token; the request is then repeated once without cookies.
 */
export async function requestService(url: URL, init: RequestInit, request: Fetch = fetch): Promise<Response> {
  const response = await request(url, { ...init, credentials: 'same-origin' });
  if (response.status !== 403) return response;
  const copy = response.clone();
  const problem = await copy.json().catch(() => undefined);
  if (problem?.code !== 'ERR_CSRF') return response;
  return request(url, { ...init, credentials: 'omit' });
}
