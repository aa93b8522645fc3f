// Starts the servers that are compared, each as a process of its own.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Server {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The command as it is published: start-up is measured without type stripping. */
const command = 'dist/cli/main.cjs';

export const startBare = (): Promise<Server> => start([join(import.meta.dirname, 'bare-server.ts')]);

export const startDeskbell = (data: string, ...flags: readonly string[]): Promise<Server> =>
  startVersion(join(import.meta.dirname, '../..'), data, ...flags);

/** @param folder of a checkout, or of the package */
export const startVersion = (folder: string, data: string, ...flags: readonly string[]): Promise<Server> =>
  start([join(folder, command), 'serve', '--port', '0', '--data', data, ...flags]);

export const startMounted = (mount: 'middleware' | 'handler', data: string): Promise<Server> =>
  start([join(import.meta.dirname, 'mounted-server.ts'), mount, data]);

async function start(words: readonly string[]): Promise<Server> {
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await readPort(child);
  return {
    port,
    pid: child.pid ?? 0,
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** The port in the first line that names one; what follows is read and dropped. */
async function readPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('standard output is not a pipe');
  for await (const line of createInterface(child.stdout)) {
    const port = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    child.stdout.resume();
    return Number(port);
  }
  throw new Error('the server ended before it was ready');
}
