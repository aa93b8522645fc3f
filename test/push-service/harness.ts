// What the tests of this folder share: a push service that ends with its test, requests over both versions of HTTP
// from node's own clients, and VAPID tokens made by hand, so that every part of one can be wrong.
import { once } from 'node:events';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { request as http1Request } from 'node:http';
import { connect, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { type PushService, type PushServiceOptions, startPushService } from '../../src/push-service/index.ts';
import { until } from '../../tools/until.ts';

export async function start(t: TestContext, options: PushServiceOptions = {}): Promise<PushService> {
  const service = await startPushService(options);
  t.after(() => service.close());
  return service;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Sending {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

export type Send = (url: string, sending?: Sending) => Promise<Received>;

export const sendByHttp1: Send = (url, { method = 'POST', headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const request = http1Request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });

export const sendByHttp2: Send = async (url, sending) => {
  const session = connect(new URL(url).origin);
  try {
    return await sendOn(session, url, sending);
  } finally {
    session.close();
  }
};

export const versions: readonly (readonly [string, Send])[] = [
  ['HTTP/1.1', sendByHttp1],
  ['HTTP/2', sendByHttp2],
];

/** One request on an HTTP/2 session that is there already. */
export function sendOn(
  session: ClientHttp2Session,
  url: string,
  { method = 'POST', headers = {}, body }: Sending = {},
): Promise<Received> {
  const { pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    session.setMaxListeners(0).once('error', reject);
    const stream = session.request({ ':method': method, ':path': pathname + search, ...headers });
    let received: OutgoingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on('response', (fields) => (received = fields as OutgoingHttpHeaders));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      if (stream.rstCode !== 0 || received[':status'] === undefined) {
        return reject(new Error(`stream closed with ${stream.rstCode}`));
      }
      const { ':status': status, ...further } = received;
      resolve({
        status: Number(status),
        headers: further as Record<string, string>,
        body: Buffer.concat(chunks).toString(),
      });
    });
    stream.end(body);
  });
}

/** A refusal's JSON body, without its wording. */
export function refusalOf({ status, body }: Received): {
  status: number;
  code: number;
  errno: number | null;
} {
  const { code, errno } = JSON.parse(body) as { code: number; errno: number | null };
  return { status, code, errno };
}

/** These replace members of a good token. */
interface TokenChanges {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
}

export type VapidSender = ReturnType<typeof createVapidSender>;

/** An application server that signs for push resources of `audience`. */
export function createVapidSender(audience: string, now: () => number = Date.now) {
  const { publicKey: key, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x, y } = key.export({ format: 'jwk' });
  const point = Buffer.concat([
    Buffer.of(4),
    Buffer.from(String(x), 'base64url'),
    Buffer.from(String(y), 'base64url'),
  ]);
  const publicKey = point.toString('base64url');
  const token = ({ claims = {}, header = {} }: TokenChanges = {}): string => {
    const exp = Math.floor(now() / 1000) + 12 * 60 * 60;
    const signed = [
      { typ: 'JWT', alg: 'ES256', ...header },
      { aud: audience, exp, sub: 'mailto:test@example.org', ...claims },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
  /** Value of the Authorization header. */
  const authorize = (changes?: TokenChanges): string => `vapid t=${token(changes)}, k=${publicKey}`;
  return { publicKey, token, authorize };
}

/** A body that has the shape of aes128gcm: salt, rs, idlen, keyid, then `recordBytes` of anything. */
export function aes128gcmBody(recordBytes = 40): Buffer {
  const body = randomBytes(86 + recordBytes);
  body.writeUInt32BE(4096, 16);
  body[20] = 65;
  body[21] = 4;
  return body;
}

export const encrypted = { 'content-encoding': 'aes128gcm' };
/** A push request that is accepted. */
export const push = { headers: { ttl: '60', ...encrypted }, body: aes128gcmBody() };

export type Frame = Record<string, unknown>;

export type RawAgent = Awaited<ReturnType<typeof connectRaw>>;

/** A user agent frame by frame, for what a well-behaved one would never send. */
export async function connectRaw(t: TestContext, service: PushService) {
  const socket = new WebSocket(service.webSocketUrl, 'push-notification');
  t.after(() => socket.terminate());
  /** Frames that have arrived and have not been taken. */
  const pending: Frame[] = [];
  socket.on('message', (data) => {
    pending.push(JSON.parse(String(data)) as Frame);
  });
  const isClosed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await once(socket, 'open');
  /** The next frame, in the order of arrival. */
  const receive = async (): Promise<Frame> => {
    await until(() => pending.length, 'a frame from the push service');
    return pending.shift() as Frame;
  };
  const send = (frame: unknown): void =>
    socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  return {
    socket,
    pending,
    send,
    receive,
    /** Sends a frame and waits for the next one. */
    ask: (frame: unknown): Promise<Frame> => {
      send(frame);
      return receive();
    },
    closed: () => isClosed,
  };
}

export const hello = { messageType: 'hello', broadcasts: {}, use_webpush: true };
export const channelA = '11111111-1111-4111-8111-111111111111';
export const channelB = '22222222-2222-4222-8222-222222222222';

/** A push service, and a raw user agent that is subscribed at it. */
export async function startSubscribed(t: TestContext, options?: PushServiceOptions) {
  const service = await start(t, options);
  return { service, ...(await subscribeRaw(t, service)) };
}

/** A raw user agent that has said hello and has one subscription. */
export async function subscribeRaw(t: TestContext, service: PushService, key?: string) {
  const agent = await connectRaw(t, service);
  const { uaid } = await agent.ask(hello);
  const { pushEndpoint } = await agent.ask({
    messageType: 'register',
    channelID: channelA,
    ...(key === undefined ? {} : { key }),
  });
  return { agent, uaid: String(uaid), endpoint: String(pushEndpoint) };
}
