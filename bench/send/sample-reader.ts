// Where the messages to the sample's subscribers end: reads them as a browser would, with the npm package `http_ece`,
// which is not ours.
import { createECDH } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { payload } from './message.ts';
import type { Subscriber } from './workload.ts';

interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}
const ece = createRequire(import.meta.url)('http_ece') as HttpEce;

export interface SampleReader {
  readonly port: number;
  /** How many messages were read since the last call. @throws {Error} one was not what was to be sent */
  take(): number;
  stop(): Promise<void>;
}

export async function startSampleReader(subscribers: readonly Subscriber[]): Promise<SampleReader> {
  const sample = new Map(
    subscribers.flatMap((one) => (one.privateKey === undefined ? [] : [[one.path, one] as const])),
  );
  let read = 0;
  let fault: unknown;
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => {
        const text = decrypt(sample.get(request.url ?? ''), request.headers, body);
        if (text !== payload) throw new Error(`A sample reads ${JSON.stringify(text)}.`);
        read += 1;
        response.writeHead(201).end();
      })
      .catch((error: unknown) => {
        fault ??= error;
        response.writeHead(400).end();
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,

    take() {
      if (fault !== undefined) throw fault;
      const taken = read;
      read = 0;
      return taken;
    },

    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function decrypt(subscriber: Subscriber | undefined, headers: IncomingHttpHeaders, body: Buffer): string {
  if (subscriber?.privateKey === undefined) throw new Error('A sample has no subscriber.');
  const privateKey = createECDH('prime256v1');
  privateKey.setPrivateKey(subscriber.privateKey);
  const keys = { privateKey, authSecret: subscriber.auth };
  const version = headers['content-encoding'];
  if (version === 'aes128gcm') return ece.decrypt(body, { ...keys, version }).toString();
  // the draft that some senders still speak keeps its parameters in header fields
  const dh = /dh=([\w-]+)/.exec(String(headers['crypto-key']))?.[1];
  const salt = /salt=([\w-]+)/.exec(String(headers['encryption']))?.[1];
  return ece.decrypt(body, { ...keys, version, dh, salt }).toString();
}
