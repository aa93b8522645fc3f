// An application in TypeScript that was written for `web-push` and its types: each of their names is used. It is compiled
// against the packed package, and never run.
import { Agent } from 'node:https';
/* oxlint-disable import/no-named-as-default-member -- that is how `web-push` is used */
import webPush from 'deskbell/web-push';
import * as everything from 'deskbell/web-push';
import { WebPushError, type RequestOptions, type SendResult } from 'deskbell/web-push';

const keys: webPush.VapidKeys = webPush.generateVAPIDKeys();
const contact = 'mailto:push@example.org';
webPush.setGCMAPIKey('key of a time before VAPID');
webPush.setGCMAPIKey(null);
webPush.setVapidDetails(contact, keys.publicKey, keys.privateKey);

/** Options are completed step by step. */
export function optionsFor(isUrgent: boolean, proxyHost?: string): webPush.RequestOptions {
  const options: webPush.RequestOptions = { TTL: 60, headers: { 'X-Own': 'own' } };
  options.timeout = 5000;
  options.topic = 'backups';
  options.urgency = isUrgent ? webPush.supportedUrgency.HIGH : everything.supportedUrgency.VERY_LOW;
  options.contentEncoding = webPush.supportedContentEncodings.AES_GCM;
  options.vapidDetails = { subject: contact, ...keys };
  const proxy: webPush.HttpsProxyAgentOptions = { headers: {} };
  if (proxyHost === undefined) options.agent = new Agent({ keepAlive: true });
  else options.proxy = isUrgent ? `http://${proxyHost}:8080` : { ...proxy, host: proxyHost, port: 8080 };
  return options;
}

export async function notify(subscription: webPush.PushSubscription): Promise<number> {
  subscription.expirationTime = null;
  const options: RequestOptions = { ...optionsFor(true), gcmAPIKey: undefined, transport: 'node' };
  try {
    const result: webPush.SendResult = await everything.sendNotification(subscription, 'text', options);
    const same: SendResult = await webPush.sendNotification(subscription, Buffer.from('bytes'));
    await webPush.sendNotification(subscription, null, options);
    const headers: webPush.Headers = same.headers;
    return result.statusCode + result.body.length + Object.keys(headers).length;
  } catch (error) {
    if (error instanceof webPush.WebPushError && error instanceof WebPushError) return describe(error);
    throw error;
  }
}

const describe = ({ statusCode, endpoint, body, message }: webPush.WebPushError): number =>
  statusCode + `${endpoint} ${body} ${message}`.length;

/** Many send the request by themselves, on platforms without Node's client. */
export function ownRequest(subscription: webPush.PushSubscription): Request {
  const details: webPush.RequestDetails = webPush.generateRequestDetails(subscription, 'text');
  const { body, endpoint, headers, method } = everything.generateRequestDetails(subscription, 'text', {});
  const nothing: null = webPush.generateRequestDetails(subscription).body;
  return new Request(endpoint, {
    method,
    headers: { ...headers, ...details.headers },
    body: nothing ?? new Uint8Array(body),
  });
}

export function partsOf({ endpoint, keys: { p256dh, auth } }: webPush.PushSubscription): readonly string[] {
  const encoding: webPush.ContentEncoding = 'aes128gcm';
  const urgency: webPush.Urgency = 'normal';
  const encrypted: webPush.EncryptionResult = webPush.encrypt(p256dh, auth, 'text', encoding);
  const { origin } = new URL(endpoint);
  const sign = [origin, contact, keys.publicKey, keys.privateKey] as const;
  const old: { readonly 'Crypto-Key': string } = webPush.getVapidHeaders(...sign, 'aesgcm');
  const expiration = Math.floor(Date.now() / 1000) + 3600;
  const { Authorization } = everything.getVapidHeaders(...sign, encoding, expiration);
  return [encrypted.cipherText.toString('hex'), encrypted.salt, old['Crypto-Key'], Authorization, urgency];
}

// @ts-expect-error Both keys of a subscription are required.
void webPush.sendNotification({ endpoint: 'https://push.example.org/x', keys: { auth: '' } }, 'text');
// @ts-expect-error There is no such encoding.
webPush.encrypt('', '', '', 'gzip');
// @ts-expect-error Keys are texts.
webPush.setVapidDetails(contact, Buffer.alloc(65), keys.privateKey);
// @ts-expect-error There is no such option.
export const wrong: webPush.RequestOptions = { ttl: 60 };
