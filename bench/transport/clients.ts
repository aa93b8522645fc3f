// The clients that are compared: each posts the same requests and keeps so many of them in hand.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request as requestHttps } from 'node:https';
import { createTransport } from '../../src/transport/create-transport.ts';

export interface Order {
  readonly client: ClientName;
  readonly origin: string;
  /** Certificate of the push service, PEM. */
  readonly certificate: string;
  readonly requests: number;
  readonly inHand: number;
  /** Time spent before each request, as encrypting its message takes it. */
  readonly workMicroseconds: number;
}

/** Posts one request; resolves with its status through `done`. */
export interface Client {
  post(path: string, done: (status: number | undefined) => void): void;
  close(): Promise<void> | void;
}

export const headers: Readonly<Record<string, string>> = {
  ttl: '2419200',
  urgency: 'normal',
  'content-encoding': 'aes128gcm',
  'content-type': 'application/octet-stream',
  authorization: `vapid t=${'e'.repeat(240)}, k=${'B'.repeat(87)}`,
};
export const body = Buffer.alloc(320, 0xa5);

const http2SessionStreams = 100;
const httpsSockets = 64;

export const clients = {
  deskbell: ({ origin, certificate }: Order): Client => {
    const transport = createTransport({ pushServices: [origin], ca: [certificate] });
    return {
      post(path, done) {
        transport.send({ origin, path, headers, body }, (result) => {
          done(result.kind === 'response' ? result.response.status : undefined);
        });
      },
      close: () => transport.close(),
    };
  },

  'node:http2': async ({ origin, certificate, inHand }: Order): Promise<Client> => {
    const count = Math.ceil(inHand / http2SessionStreams);
    const sessions = Array.from({ length: count }, () => connectHttp2(origin, { ca: certificate }));
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    let next = 0;
    return {
      post(path, done) {
        next = (next + 1) % count;
        const stream = sessions[next]?.request({ ...headers, ':method': 'POST', ':path': path });
        let status: number | undefined;
        stream?.on('response', (answer) => (status = answer[':status']));
        stream?.on('error', () => {});
        stream?.on('close', () => done(status));
        stream?.resume();
        stream?.end(body);
      },
      close() {
        for (const session of sessions) session.close();
      },
    };
  },

  'node:https': ({ origin, certificate }: Order): Client => {
    const agent = new Agent({ keepAlive: true, maxSockets: httpsSockets, ca: certificate });
    return {
      post(path, done) {
        const options = { agent, method: 'POST', headers: { ...headers, 'content-length': body.length } };
        const request = requestHttps(origin + path, options, (response) => {
          response.resume().on('end', () => done(response.statusCode));
        });
        request.on('error', () => done(undefined));
        request.end(body);
      },
      close: () => agent.destroy(),
    };
  },
};

export type ClientName = keyof typeof clients;
