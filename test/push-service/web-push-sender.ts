// A sender that shares nothing with us: the npm package `web-push`, so that no bug of ours can cancel itself out.
import { Agent } from 'node:https';
import { createRequire } from 'node:module';
import type { PushService, PushSubscriptionJson } from '../../src/push-service/index.ts';
import { type Received, sendByHttp1 } from './harness.ts';

export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

interface WebPush {
  generateVAPIDKeys(): VapidKeys;
  generateRequestDetails(
    subscription: unknown,
    payload: string | undefined,
    options: object,
  ): { endpoint: string; headers: Record<string, string>; body: Buffer | null };
  sendNotification(
    subscription: unknown,
    payload: string | undefined,
    options: object,
  ): Promise<{ statusCode: number; body: string; headers: Record<string, string> }>;
}

const webPush = createRequire(import.meta.url)('web-push') as WebPush;

export const generateVapidKeys = (): VapidKeys => webPush.generateVAPIDKeys();

const subject = 'mailto:test@example.org';
const toWebPush = ({ endpoint, p256dh, auth }: PushSubscriptionJson) => ({
  endpoint,
  keys: { p256dh, auth },
});

export interface PushOptions {
  readonly TTL?: number;
  readonly urgency?: string;
  readonly topic?: string;
  readonly contentEncoding?: 'aes128gcm' | 'aesgcm';
}

/** The package speaks https only, so for http it makes the request and node's own client sends it. */
export function pushWith(
  keys: VapidKeys,
  subscription: PushSubscriptionJson,
  payload: string | undefined,
  options: PushOptions = {},
): Promise<Received> {
  const details = { vapidDetails: { subject, ...keys }, ...options };
  const { endpoint, headers, body } = webPush.generateRequestDetails(
    toWebPush(subscription),
    payload,
    details,
  );
  const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  return sendByHttp1(endpoint, {
    headers: Object.fromEntries(fields) as Record<string, string>,
    ...(body && { body }),
  });
}

/** The package as it is, over https. */
export function sendWith(
  service: PushService,
  keys: VapidKeys,
  subscription: PushSubscriptionJson,
  payload: string | undefined,
  options: PushOptions = {},
): Promise<{ statusCode: number; body: string; headers: Record<string, string> }> {
  return webPush.sendNotification(toWebPush(subscription), payload, {
    vapidDetails: { subject, ...keys },
    agent: new Agent({ ca: [...service.ca], keepAlive: false }),
    ...options,
  });
}
