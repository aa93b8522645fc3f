// The senders that others have published, used as their documentation says, and `web-push` also as well as it can be
// used. They trust the push service's certificate by NODE_EXTRA_CA_CERTS.
import { createPrivateKey, type webcrypto } from 'node:crypto';
import { createRequire } from 'node:module';
import { buildPushPayload } from '@block65/webcrypto-web-push';
import { buildPushHTTPRequest } from '@pushforge/builder';
import { Pool } from 'undici';
import { sendNotification } from 'web-push-neo';
import { readList, sendInFlight, type Prepared, type SendOne } from './in-flight.ts';
import type { Job } from './job.ts';
import { message, payload, ttlSeconds, type ListedSubscription } from './message.ts';

/** The part of `web-push` that is used here; the package comes without types. */
interface WebPush {
  sendNotification(
    subscription: ListedSubscription,
    payload: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly statusCode: number }>;
  generateRequestDetails(
    subscription: ListedSubscription,
    payload: string,
    options: Readonly<Record<string, unknown>>,
  ): { readonly headers: Record<string, string>; readonly body: Buffer };
  getVapidHeaders(
    audience: string,
    subject: string,
    publicKey: string,
    privateKey: string,
    contentEncoding: string,
  ): Readonly<Record<string, string>>;
}
const webPush = createRequire(import.meta.url)('web-push') as WebPush;

const senders: Readonly<Record<string, (job: Job) => SendOne>> = {
  'web-push':
    ({ vapid }) =>
    async (subscription) => {
      const options = { vapidDetails: vapid, TTL: ttlSeconds };
      return (await webPush.sendNotification(subscription, payload, options)).statusCode;
    },

  // Its encryption alone: the token is signed once, and undici sends.
  'web-push, tuned'({ vapid: { subject, publicKey, privateKey }, origin, inFlight }) {
    const headers = webPush.getVapidHeaders(origin, subject, publicKey, privateKey, 'aes128gcm');
    const pool = new Pool(origin, { connections: inFlight });
    return async (subscription) => {
      const request = webPush.generateRequestDetails(subscription, payload, { headers, TTL: ttlSeconds });
      const path = subscription.endpoint.slice(origin.length);
      const answer = await pool.request({
        method: 'POST',
        path,
        headers: request.headers,
        body: request.body,
      });
      await answer.body.dump();
      return answer.statusCode;
    };
  },

  'web-push-neo':
    ({ vapid }) =>
    async (subscription) => {
      const options = { vapidDetails: vapid, TTL: ttlSeconds };
      return (await sendNotification(subscription, payload, options)).statusCode;
    },

  '@block65/webcrypto-web-push':
    ({ vapid }) =>
    async (subscription) => {
      const request = await buildPushPayload(
        { data: message, options: { ttl: ttlSeconds } },
        { ...subscription, expirationTime: null },
        vapid,
      );
      return post(subscription.endpoint, request);
    },

  '@pushforge/builder'({ vapid }) {
    const privateJWK = toJwk(vapid);
    return async (subscription) => {
      const { endpoint, headers, body } = await buildPushHTTPRequest({
        privateJWK,
        subscription,
        message: { payload: message, adminContact: vapid.subject, options: { ttl: ttlSeconds } },
      });
      return post(endpoint, { method: 'POST', headers, body });
    };
  },
};

export async function prepareSender(job: Job): Promise<Prepared> {
  const create = senders[job.sender];
  if (create === undefined) throw new Error(`There is no sender ${job.sender}.`);
  const list = await readList(job);
  const sendOne = create(job);
  return { send: () => sendInFlight(list, job.inFlight, sendOne), close: async () => {} };
}

async function post(endpoint: string, request: RequestInit): Promise<number> {
  const answer = await fetch(endpoint, request);
  await answer.arrayBuffer();
  return answer.status;
}

function toJwk({ publicKey, privateKey }: Job['vapid']): webcrypto.JsonWebKey {
  const point = Buffer.from(publicKey, 'base64url');
  const x = point.toString('base64url', 1, 33);
  const y = point.toString('base64url', 33);
  const key = { kty: 'EC', crv: 'P-256', d: privateKey, x, y };
  return createPrivateKey({ key, format: 'jwk' }).export({ format: 'jwk' });
}
