// What a page asks of the Deskbell service: its key, and to store or remove a subscription. Every failure is on the
// browser's console as well.
import { ClientError, reported } from './client-error.ts';
import { type Fetch, requestService } from './request-service.ts';
import { defaultTimeoutMs } from './time-limit.ts';

/** A subscriber token of the application, for the person who is signed in; none where nobody is. */
type GetToken = () => string | undefined | Promise<string | undefined>;

type HeaderFields = Readonly<Record<string, string>>;

export const jsonType = { 'content-type': 'application/json' };

/** What a person wants of channels, by their names: on or off. */
export type Choices = Readonly<Record<string, boolean>>;

/** What a person can switch on and off. */
export interface Channel {
  readonly name: string;
  /** In the language of the browser, where there is one. */
  readonly title: string;
  /** Of the title (BCP 47), where it is known. */
  readonly language?: string;
  /** For whoever reads this browser's subscription. */
  readonly isOn: boolean;
}

/** How the service is asked; all of it has defaults. */
export interface ServiceApiOptions {
  /** Time limit of each request to the service and to the push service, in milliseconds. Default: 15 000. */
  readonly timeoutMs?: number;
  /** Replaces `fetch`, for instance to add a header that the service's `onSubscribe` hook looks at. */
  readonly fetch?: Fetch;
  /**
   * Gives a subscriber token, which says whose the subscription is, whenever the subscription is sent to the service; or
   * nothing, and the service's copy stays whose it is. A fresh one each time: it is valid for an hour at most.
   * What it throws, `subscribe`, `resync`, `channels` and `setChannels` reject with.
   */
  readonly token?: GetToken;
}

export class ServiceApi {
  readonly url: URL;
  readonly timeoutMs: number;
  /** By which the subscription was stored last. */
  storedBody: string | undefined;
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
  fetchVapidKey(): Promise<string> {
    // A new URL each time: a service worker of the site may answer from its cache, and would give a former key for ever.
    return this.#request('GET', `vapidKey?${Date.now()}`, isKey) as Promise<string>;
  }

  /**
   * @param body of the subscription, as `subscriptionBody` makes it
   * @param former what it takes the place of
   */
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

  /** Removes a subscription. */
  remove(body: string): Promise<unknown> {
    return this.#delete('webPush', 'webPush/unsubscribe', body);
  }

  /** Removes user and tags of a subscription. */
  signOut(body: string): Promise<unknown> {
    return this.#delete('webPush/user', 'webPush/sign-out', body);
  }

  /** Some proxies drop the body of a DELETE, or refuse it: then the same is asked by POST. */
  async #delete(path: string, postPath: string, body: string): Promise<unknown> {
    const ask = (method: string, at: string) => this.#ask(method, at, isNothing, jsonType, body);
    return ask('DELETE', path).catch((error: ClientError) =>
      ask('POST', postPath).catch(() => {
        throw reported(error);
      }),
    );
  }

  /**
   * The channels of whoever reads a subscription, as they are afterwards.
   *
   * @param body as `subscriptionBody` makes it
   * @param choices of channels to change
   */
  choose(body: string, choices?: Choices): Promise<readonly Channel[]> {
    return this.#post('webPush/channels', Array.isArray, body, { choices }) as Promise<readonly Channel[]>;
  }

  /** As the person who is signed in. */
  async #post(
    path: string,
    isAnswer: (answer: unknown) => boolean,
    body: string,
    further: object,
    headers?: HeaderFields,
  ): Promise<unknown> {
    const token = await this.#options.token?.();
    const all = { ...jsonType, ...headers, ...(token && { authorization: `Bearer ${token}` }) };
    return this.#request('POST', path, isAnswer, all, JSON.stringify({ ...JSON.parse(body), ...further }));
  }

  /** Reports a failure on the console. */
  #request(...request: Question): Promise<unknown> {
    return this.#ask(...request).catch((error: ClientError) => {
      throw reported(error);
    });
  }

  /** @param isAnswer whether JSON, or undefined for an empty body, is what the service answers; a login page at 200 is not */
  async #ask(...[method, path, isAnswer, headers, body]: Question): Promise<unknown> {
    const url = new URL(path, this.url);
    const name = `${method} ${url.origin}${url.pathname}`;
    let response: Response;
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      const init = { method, headers, body, signal };
      response = await requestService(url, init as RequestInit, this.#options.fetch);
    } catch (cause) {
      throw new ClientError('server-unreachable', `${name}: the service cannot be reached.`, cause);
    }
    const { ok, status } = response;
    const answer = await readJson(response);
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
/** 65 bytes that begin with 4, as base64url. */
const isKey = (answer: unknown): boolean => isString(answer) && /^B[\w-]{86}$/.test(answer as string);

/** Null for what is not JSON, undefined for nothing at all. */
async function readJson(response: Response): Promise<any> {
  const text = await response.text();
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return null;
  }
}

/** The three strings, as the service specifies them: what a subscription is known and proved by. */
export function subscriptionBody(subscription: PushSubscription): string {
  return JSON.stringify({
    endpoint: subscription.endpoint,
    p256dh: base64(subscription.getKey('p256dh')),
    auth: base64(subscription.getKey('auth')),
  });
}

/** Standard base64 with padding. */
export function base64(bytes: ArrayBuffer | null): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes!)));
}
