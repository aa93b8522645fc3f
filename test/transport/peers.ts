// Real HTTP servers to hold the transport against: nginx, nghttpd, Go's net/http and Node's http2.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { freePort, untilListening } from '../../tools/listening.ts';
import { startNginx as runNginx } from '../../tools/nginx.ts';

/** A certificate for localhost and push.example.org that is its own authority, for this run only. */
export const certificate = makeCertificate(['localhost', 'push.example.org', '127.0.0.1']);

export interface Peer extends AsyncDisposable {
  readonly origin: string;
  close(): Promise<void>;
}

const peerAt = (origin: string, close: () => Promise<void>): Peer => ({
  origin,
  close,
  [Symbol.asyncDispose]: close,
});

/** An nginx that answers 201 to everything; `requests()` are the paths that it has processed, from its access log. */
export async function startNginx(directives = ''): Promise<Peer & { requests(): string[] }> {
  const directory = writeCertificate();
  const port = await freePort();
  const http = `
    log_format path '$request_uri'; access_log access.log path;
    server {
      listen 127.0.0.1:${port} ssl http2;
      ssl_certificate cert.pem; ssl_certificate_key key.pem;
      ${directives}
      location / { return 201; }
    }`;
  const nginx = await runNginx(directory, { port, http });
  const peer = peerAt(`https://localhost:${port}`, async () => {
    await nginx.stop();
    rmSync(directory, { recursive: true });
  });
  const log = join(directory, 'access.log');
  return { ...peer, requests: () => readFileSync(log, 'latin1').trim().split('\n') };
}

/** An nghttpd that serves files; there are none, so that it answers 404 to everything. */
export async function startNghttpd(...options: string[]): Promise<Peer> {
  const directory = writeCertificate();
  const port = await freePort();
  const all = ['-a', '127.0.0.1', '-d', directory, ...options, String(port), 'key.pem', 'cert.pem'];
  return running(spawn('nghttpd', all, { cwd: directory, stdio: 'ignore' }), port, directory);
}

/** The Go server next to this file: it answers 201 with the length of what it got, see its source. */
export async function startGoServer(): Promise<Peer> {
  const directory = writeCertificate();
  const port = await freePort();
  const source = join(import.meta.dirname, 'go-server', 'main.go');
  const program = join(directory, 'server');
  const environment = { ...process.env, GOFLAGS: '-mod=mod', GO111MODULE: 'off', GOTOOLCHAIN: 'local' };
  execFileSync('go', ['build', '-o', program, source], { cwd: directory, env: environment });
  const address = `127.0.0.1:${port}`;
  return running(spawn(program, [address], { cwd: directory, stdio: 'inherit' }), port, directory);
}

/** Starts a server of Node's on a port that the system picks; closing it ends all of its connections. */
export async function startServer(
  server: Server,
  scheme: 'http' | 'https',
): Promise<Peer & { /** Accepted so far. */ connections(): number }> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.on('secureConnection', (socket: Socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  server.on('sessionError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const peer = peerAt(`${scheme}://localhost:${(server.address() as AddressInfo).port}`, async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  return { ...peer, connections: () => connections };
}

/** An HTTP/1.1 server that calls `answer` for each request that has come whole, with their number so far. */
export function startHttp(
  answer: (response: ServerResponse, requests: number) => void,
): ReturnType<typeof startServer> {
  let requests = 0;
  const server = createHttpServer((request, response) => {
    request.resume().on('end', () => answer(response, (requests += 1)));
  });
  return startServer(server, 'http');
}

/** An HTTP/2 server that calls `answer` for each stream. */
export function startHttp2(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  options: SecureServerOptions = {},
): ReturnType<typeof startServer> {
  const server = createSecureServer({ ...certificate, ...options });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    answer(stream, headers);
  });
  return startServer(server, 'https');
}

/** Answers a stream of HTTP/2. */
export function respond(stream: ServerHttp2Stream, status = 201, headers: OutgoingHttpHeaders = {}): void {
  stream.respond({ ':status': status, ...headers });
  stream.end();
}

function writeCertificate(): string {
  const directory = mkdtempSync(join(tmpdir(), 'deskbell-transport-'));
  writeFileSync(join(directory, 'cert.pem'), certificate.cert);
  writeFileSync(join(directory, 'key.pem'), certificate.key);
  return directory;
}

async function running(child: ChildProcess, port: number, directory: string): Promise<Peer> {
  const exited = once(child, 'exit');
  await untilListening(child, port);
  return peerAt(`https://localhost:${port}`, async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(directory, { recursive: true });
  });
}
