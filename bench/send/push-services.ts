// The push service that every sender posts to: nginx, which answers 201 to everything and takes a small part of the
// work that sending is. Four ways lead to it: one for speed, one that ends every connection after 1000 requests, one that
// is 50 ms long, and the same way made short, for what passing on costs by itself on the same cores.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { freePort } from '../../tools/listening.ts';
import { startNginx } from '../../tools/nginx.ts';
import { cpuSecondsOf } from '../measure/process-usage.ts';

export const roundTripMs = 50;

export interface PushServices {
  /** Connections last for ever. */
  readonly near: string;
  /** nginx's own way: every connection ends after 1000 requests, over HTTP/2 by GOAWAY. */
  readonly restless: string;
  /** `near` from 50 ms away. */
  readonly far: string;
  /** As `far`, from as near as the program in between allows. */
  readonly relayed: string;
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
  const prefix = join(folder, 'nginx');
  const certificatePath = join(prefix, 'certificate.pem');
  const { cert, key } = makeCertificate(['127.0.0.1']);
  await mkdir(prefix);
  await writeFile(certificatePath, cert);
  await writeFile(join(prefix, 'key.pem'), key);
  const [near, restless, status] = [await freePort(), await freePort(), await freePort()];
  const nginx = await startNginx(prefix, {
    port: near,
    http: configure({ near, restless, status, samplePort }),
    // one process, so that its CPU time is easily told
    processes: 'master_process off',
    workerConnections: 4096,
  });

  const relays = [roundTripMs, 0].map((ms) =>
    fork(join(import.meta.dirname, 'delay.ts'), [String(near), String(ms)]),
  );
  const [far, relayed] = await Promise.all(
    relays.map(async (relay) => ((await once(relay, 'message')) as [number])[0]),
  );
  return {
    near: `https://127.0.0.1:${near}`,
    restless: `https://127.0.0.1:${restless}`,
    far: `https://127.0.0.1:${far}`,
    relayed: `https://127.0.0.1:${relayed}`,
    certificatePath,

    async requests() {
      const text = await (await fetch(`http://127.0.0.1:${status}/`)).text();
      const total = /^ \d+ \d+ (\d+) $/m.exec(text)?.[1];
      if (total === undefined) throw new Error(`nginx tells its status in other words: ${text}`);
      return Number(total);
    },

    async cpuSeconds() {
      const seconds = await Promise.all([nginx, ...relays].map(({ pid = 0 }) => cpuSecondsOf(pid)));
      return seconds.reduce(
        (sum, one) => (one === undefined || sum === undefined ? undefined : sum + one),
        0,
      );
    },

    async stop() {
      for (const relay of relays) relay.kill('SIGTERM');
      await Promise.all([nginx.stop(), ...relays.map((relay) => once(relay, 'exit'))]);
    },
  };
}

interface Ports {
  readonly near: number;
  readonly restless: number;
  readonly status: number;
  readonly samplePort: number;
}

/** RFC 8030 §5 wants a `location` in the answer. */
function configure({ near, restless, status, samplePort }: Ports): string {
  const places = `
      location / { add_header location https://push.example.org/m/gAAAAABnR1c8kQ; return 201; }
      location /sample/ { proxy_pass http://127.0.0.1:${samplePort}; }`;
  return `
    access_log off;
    ssl_certificate certificate.pem; ssl_certificate_key key.pem;
    server {
      listen 127.0.0.1:${near} ssl http2; keepalive_requests 1000000000; keepalive_timeout 10m;${places}
    }
    server {
      listen 127.0.0.1:${restless} ssl http2; keepalive_requests 1000;${places}
    }
    server {
      listen 127.0.0.1:${status}; location / { stub_status; }
    }`;
}
