// nginx as tests and the bench use it: from a folder of its own, in the foreground, and gone when it is stopped.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { find, install, nginx as program } from '../scripts/install-test-tools.ts';
import { untilListening } from './listening.ts';

export interface NginxConfiguration {
  /** What stands in its `http` block; paths in it are relative to the folder. */
  readonly http: string;
  /** One of the ports that it listens on. */
  readonly port: number;
  /** How many processes it is; by default one that answers, and one that watches it. */
  readonly processes?: string;
  readonly workerConnections?: number;
}

export interface Nginx {
  readonly pid: number;
  /** Lets it finish what it has begun, and write its log. */
  stop(): Promise<void>;
}

/**
 * Starts nginx, after installing it where that is possible.
 *
 * @throws {Error} it is not installed, or does not start
 */
export async function startNginx(folder: string, configuration: NginxConfiguration): Promise<Nginx> {
  const { http, port, processes = 'worker_processes 1', workerConnections = 512 } = configuration;
  await install('nginx', [program]);
  const command = find(program);
  if (command === undefined) throw new Error('nginx is not installed.');
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; ${processes}; pid nginx.pid; error_log stderr error;
    events { worker_connections ${workerConnections}; }
    http {
      client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
      uwsgi_temp_path uwsgi; scgi_temp_path scgi;
      ${http}
    }`,
  );
  const nginx = spawn(command, ['-p', folder, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(nginx, 'exit');
  await untilListening(nginx, port).catch((error: unknown) => {
    nginx.kill();
    throw error;
  });
  return {
    pid: nginx.pid ?? 0,
    async stop() {
      if (nginx.exitCode === null && nginx.signalCode === null) nginx.kill('SIGQUIT');
      await ended;
    },
  };
}
