// The push service that every sender posts to: nginx, which answers 201 to everything and takes a small part of the
// work that sending is. Three ways lead to it: one for speed, one that ends every connection after 1000 requests, and
// one that is 50 ms long.
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { find, install, nginx as nginxProgram } from '../../scripts/install-test-tools.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { cpuSecondsOf } from '../measure/process-usage.ts';

export const roundTripMs = 50;

export interface PushServices {
  /** Connections last for ever. */
  readonly near: string;
  /** nginx's own way: every connection ends after 1000 requests, over HTTP/2 by GOAWAY. */
  readonly restless: string;
  /** `near` from 50 ms away. */
  readonly far: string;
  readonly certificatePath: string;
  /** What nginx has taken so far. */
  requests(): Promise<number>;
  /** CPU time of nginx and of the long way so far; `undefined` where that cannot be told. */
  cpuSeconds(): Promise<number | undefined>;
  stop(): Promise<void>;
}

/**
 * Starts nginx, after installing it where that is possible.
 *
 * @param samplePort where requests under `/sample/` end
 * @throws {Error} there is no nginx
 */
export async function startPushServices(folder: string, samplePort: number): Promise<PushServices> {
  await install('this bench', [nginxProgram]);
  const command = find(nginxProgram);
  if (command === undefined) throw new Error('There is no push service to send to.');
  const prefix = join(folder, 'nginx');
  const certificatePath = join(prefix, 'certificate.pem');
  const { cert, key } = makeCertificate(['127.0.0.1']);
  await mkdir(prefix);
  await writeFile(certificatePath, cert);
  await writeFile(join(prefix, 'key.pem'), key);
  const [near, restless, status] = await freePorts(3);
  await writeFile(join(prefix, 'nginx.conf'), configure({ near, restless, status, samplePort }));
  const nginx = spawn(command, ['-p', prefix, '-c', join(prefix, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await untilListening(nginx, near);

  const delay = fork(join(import.meta.dirname, 'delay.ts'), [String(near), String(roundTripMs)]);
  const [far] = (await once(delay, 'message')) as [number];
  return {
    near: `https://127.0.0.1:${near}`,
    restless: `https://127.0.0.1:${restless}`,
    far: `https://127.0.0.1:${far}`,
    certificatePath,

    async requests() {
      const text = await (await fetch(`http://127.0.0.1:${status}/`)).text();
      const total = /^ \d+ \d+ (\d+) $/m.exec(text)?.[1];
      if (total === undefined) throw new Error(`nginx tells its status in other words: ${text}`);
      return Number(total);
    },

    async cpuSeconds() {
      const [one, other] = await Promise.all([nginx, delay].map(({ pid = 0 }) => cpuSecondsOf(pid)));
      return one === undefined || other === undefined ? undefined : one + other;
    },

    async stop() {
      const all = [nginx, delay].filter(({ exitCode }) => exitCode === null);
      for (const child of all) child.kill('SIGTERM');
      await Promise.all(all.map((child) => once(child, 'exit')));
    },
  };
}

interface Ports {
  readonly near: number;
  readonly restless: number;
  readonly status: number;
  readonly samplePort: number;
}

/** One process, so that its CPU time is easily told. RFC 8030 §5 wants a `location` in the answer. */
function configure({ near, restless, status, samplePort }: Ports): string {
  const places = `
      location / { add_header location https://push.example.org/m/gAAAAABnR1c8kQ; return 201; }
      location /sample/ { proxy_pass http://127.0.0.1:${samplePort}; }`;
  return `
  daemon off; master_process off; pid nginx.pid; error_log stderr error;
  events { worker_connections 4096; }
  http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    ssl_certificate certificate.pem; ssl_certificate_key key.pem;
    server {
      listen 127.0.0.1:${near} ssl http2; keepalive_requests 1000000000; keepalive_timeout 10m;${places}
    }
    server {
      listen 127.0.0.1:${restless} ssl http2; keepalive_requests 1000;${places}
    }
    server {
      listen 127.0.0.1:${status}; location / { stub_status; }
    }
  }`;
}

async function freePorts<Count extends number>(count: Count): Promise<Tuple<Count>> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports as Tuple<Count>;
}

type Tuple<Count extends number, Members extends readonly number[] = []> = Members['length'] extends Count
  ? Members
  : Tuple<Count, [...Members, number]>;

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (child.exitCode !== null) break;
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await sleep(50);
  }
  throw new Error('nginx did not start.');
}
