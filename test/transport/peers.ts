// Real HTTP servers to hold the transport against: nginx, nghttpd, Go's net/http and Node's http2.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { freePort, untilListening } from '../../tools/listening.ts';
import { startNginx as runNginx } from '../../tools/nginx.ts';

/** A certificate for localhost and push.example.org that is its own authority, for this run only. */
export const certificate = makeCertificate(['localhost', 'push.example.org', '127.0.0.1']);

export interface Peer {
  readonly origin: string;
  close(): Promise<void>;
}

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
  return {
    origin: `https://localhost:${port}`,
    requests: () => readFileSync(join(directory, 'access.log'), 'latin1').trim().split('\n'),
    async close() {
      await nginx.stop();
      rmSync(directory, { recursive: true });
    },
  };
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

/** Certificate and key for Node's own servers. */
export const serverTls = certificate;

/** Starts a server of Node's on a port that the system picks; closing it ends all of its connections. */
export async function startServer(
  server: Server,
  scheme: 'http' | 'https',
  port = 0,
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
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `${scheme}://localhost:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
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
  return {
    origin: `https://localhost:${port}`,
    async close() {
      child.kill('SIGTERM');
      await exited;
      rmSync(directory, { recursive: true });
    },
  };
}
