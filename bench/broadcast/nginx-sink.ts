// nginx as the push service: TLS, HTTP/2, 201 to every POST. It costs little, and what it logs tells which
// subscription was sent to how often.
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { freePort } from '../../tools/listening.ts';
import { startNginx } from '../../tools/nginx.ts';

export interface NginxSink {
  readonly origin: string;
  /** File with the certificate to trust. */
  readonly caFile: string;
  readonly pid: number;
  /** Stops nginx and reads its log, in the order of the answers. */
  readLog(): AsyncIterable<SinkEntry>;
  /** Removes what it has made. */
  remove(): Promise<void>;
}

export interface SinkEntry {
  readonly atMs: number;
  readonly path: string;
  readonly topic: string;
}

/** @throws {Error} where nginx is not installed or does not start */
export async function startNginxSink(): Promise<NginxSink> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-nginx-'));
  const port = await freePort();
  const { key, cert } = makeCertificate(['127.0.0.1']);
  const caFile = join(folder, 'cert.pem');
  const logFile = join(folder, 'access.log');
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 });
  await writeFile(caFile, cert);
  const nginx = await startNginx(folder, { port, http: configuration(port, logFile) });
  return {
    origin: `https://127.0.0.1:${port}`,
    caFile,
    pid: nginx.pid,
    async *readLog() {
      await nginx.stop();
      for await (const line of createInterface({ input: createReadStream(logFile) })) {
        const [seconds = '', path = '', topic = ''] = line.split(' ');
        yield { atMs: Number(seconds) * 1000, path, topic };
      }
    },
    async remove() {
      await nginx.stop();
      await rm(folder, { recursive: true });
    },
  };
}

function configuration(port: number, logFile: string): string {
  return `
    log_format sink '$msec $request_uri $http_topic';
    access_log ${logFile} sink buffer=256k flush=1s;
    server {
      listen 127.0.0.1:${port} ssl http2;
      ssl_certificate cert.pem; ssl_certificate_key key.pem;
      keepalive_requests 100000000;
      location / { return 201; }
    }`;
}
