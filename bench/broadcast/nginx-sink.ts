// nginx as the push service: TLS, HTTP/2, 201 to every POST. It costs little, and what it logs tells which
// subscription was sent to how often.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { install, nginx as nginxProgram } from '../../scripts/install-test-tools.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';

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
  if (!(await install('this run', [nginxProgram]))) throw new Error('There is no push service to send to.');
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-nginx-'));
  const port = await freePort();
  const { key, cert } = makeCertificate(['127.0.0.1']);
  const caFile = join(folder, 'cert.pem');
  const logFile = join(folder, 'access.log');
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 });
  await writeFile(caFile, cert);
  await writeFile(join(folder, 'nginx.conf'), configuration(folder, port, logFile));

  const nginx = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(nginx, 'exit');
  await once(nginx, 'spawn');
  // it has no other way to say that it listens
  await sleep(300);
  if (nginx.exitCode !== null) throw new Error(`nginx ended with code ${nginx.exitCode}; see above.`);

  const stop = async (): Promise<void> => {
    if (nginx.exitCode === null && nginx.signalCode === null) nginx.kill('SIGQUIT');
    await exited;
  };
  return {
    origin: `https://127.0.0.1:${port}`,
    caFile,
    pid: nginx.pid ?? 0,
    async *readLog() {
      await stop();
      for await (const line of createInterface({ input: createReadStream(logFile) })) {
        const [seconds = '', path = '', topic = ''] = line.split(' ');
        yield { atMs: Number(seconds) * 1000, path, topic };
      }
    },
    async remove() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

function configuration(folder: string, port: number, logFile: string): string {
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 512; }
http {
  log_format sink '$msec $request_uri $http_topic';
  access_log ${logFile} sink buffer=256k flush=1s;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
    keepalive_requests 100000000;
    location / { return 201; }
  }
}
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
