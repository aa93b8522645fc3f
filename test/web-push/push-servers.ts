// What the contract tests send to: a push service that speaks HTTP/2 and HTTP/1.1 and keeps what it was sent, and a proxy.
import { createServer } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { startServer } from '../transport/peers.ts';

/** Its own authority, for this run only. */
export const certificate = makeCertificate(['localhost', '127.0.0.1']);

export interface SeenRequest {
  readonly httpVersion: string;
  /** Without those that belong to the version of HTTP. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

/** Answers as the path says: `/status/404`, `/status/201?body=words`; `/silence` never, `/hang-up` by ending the connection.
 *  Under `/gate` it answers from `open` on. */
export async function startPushServer() {
  const seen: SeenRequest[] = [];
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const { httpVersion, method, url } = request;
    const fields = Object.entries(request.headers).filter(([name]) => !/^:|^host$|^connection$/.test(name));
    const to = request.headers[':authority'] ?? request.headers.host;
    const body = await buffer(request);
    seen.push({ httpVersion, method, path: url, headers: { ...Object.fromEntries(fields), to }, body });
    const { pathname, searchParams } = new URL(url, 'https://localhost');
    if (pathname === '/silence') return;
    if (pathname === '/hang-up') {
      request.socket.destroy();
      return;
    }
    if (pathname.startsWith('/gate')) await opened;
    response.writeHead(Number(pathname.split('/')[2]), { location: '/message/1', 'x-own': 'own' });
    response.end(searchParams.get('body') ?? '');
  };
  const server = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
    void answer(request, response);
  });
  const { origin, close } = await startServer(server, 'https');
  return { origin, close, open, take: () => seen.splice(0) };
}

/** A proxy that tunnels; `/hosts` that it was asked for. */
export async function startProxy(status = 200) {
  const hosts: string[] = [];
  const server = createServer();
  server.on('connect', (request, client: Socket) => {
    hosts.push(request.url ?? '');
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const { port } = new URL(`http://${request.url}`);
    const target = connect(Number(port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    for (const socket of [client, target]) socket.on('error', () => target.destroy());
  });
  const { origin, close } = await startServer(server, 'http');
  const { port } = new URL(origin);
  return { port: Number(port), url: `http://127.0.0.1:${port}`, close, take: () => hosts.splice(0) };
}
