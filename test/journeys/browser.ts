// The browser of a journey that needs no page: a user agent at a push service on this machine, and what a page does.
import assert from 'node:assert/strict';
import { createUserAgent, startPushService } from '../../src/push-service/index.ts';

export interface JourneyBrowser extends AsyncDisposable {
  /** To be admitted by the service and the sender. */
  readonly pushService: string;
  /** Subscribes with a key; the form of `PushSubscription.toJSON()`. */
  subscribe(vapidPublicKey: string): Promise<{ readonly endpoint: string; readonly keys: object }>;
  /**
   * Fetches the key, subscribes, and stores the subscription, as the page library does.
   *
   * @returns removes it there
   */
  subscribeAt(serviceUrl: string): Promise<() => Promise<void>>;
  /** The next message that arrives, decrypted. */
  nextMessage(): Promise<unknown>;
}

export async function startJourneyBrowser(): Promise<JourneyBrowser> {
  const pushService = await startPushService();
  const userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  const browser: JourneyBrowser = {
    pushService: pushService.origin,
    async subscribe(vapidPublicKey) {
      const { endpoint, p256dh, auth } = await userAgent.subscribe(vapidPublicKey);
      return { endpoint, keys: { p256dh, auth } };
    },
    async subscribeAt(serviceUrl) {
      const vapidPublicKey = (await (await fetch(`${serviceUrl}/vapidKey`)).json()) as string;
      const subscription = await browser.subscribe(vapidPublicKey);
      const send = async (method: string, body: object, status: number) => {
        const response = await fetch(`${serviceUrl}/webPush`, {
          method,
          headers: { 'content-type': 'application/json', 'deskbell-vapid-key': vapidPublicKey },
          body: JSON.stringify(body),
        });
        assert.equal(response.status, status, await response.text());
      };
      await send('POST', subscription, 200);
      const { endpoint, keys } = subscription;
      return () => send('DELETE', { endpoint, ...keys }, 204);
    },
    nextMessage: async () => (await userAgent.nextMessage()).json(),
    async [Symbol.asyncDispose]() {
      await userAgent.close();
      await pushService.close();
    },
  };
  return browser;
}
