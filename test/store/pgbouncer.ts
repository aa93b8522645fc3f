// A real PgBouncer in transaction mode between a test and its PostgreSQL.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { find, pgbouncer } from '../../scripts/install-test-tools.ts';
import { freePort, untilListening } from '../../tools/listening.ts';

export interface PgBouncer {
  /** The same database, through PgBouncer. */
  through(url: string): string;
  /** Kills it, with all connections, and starts it again. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** @param url of a database of the server behind it, with the user and password for all that goes through */
export async function startPgBouncer(url: string): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-pgbouncer-'));
  // it refuses to run as root
  chmodSync(folder, 0o755);
  const { hostname, port: serverPort, username, password } = new URL(url);
  const port = await freePort();
  const path = join(folder, 'pgbouncer.ini');
  writeFileSync(
    path,
    `[databases]
     * = host=${hostname} port=${serverPort} user=${username} password=${password}
     [pgbouncer]
     listen_addr = 127.0.0.1
     listen_port = ${port}
     unix_socket_dir =
     auth_type = any
     pool_mode = transaction
     default_pool_size = 4
     max_client_conn = 200
     server_login_retry = 1
     `.replaceAll(/^ +/gm, ''),
  );
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const start = async (): Promise<() => Promise<void>> => {
    const child = spawn(find(pgbouncer)!, [...user, path], { stdio: ['ignore', 'pipe', 'pipe'] });
    const output: string[] = [];
    child.stdout.on('data', (chunk) => output.push(String(chunk)));
    child.stderr.on('data', (chunk) => output.push(String(chunk)));
    const exited = once(child, 'exit');
    await untilListening(child, port).catch((cause: unknown) => {
      throw new Error(`PgBouncer does not start:\n${output.join('')}`, { cause });
    });
    return async () => {
      child.kill('SIGKILL');
      await exited;
    };
  };
  let kill = await start();
  return {
    through: (of) => {
      const changed = new URL(of);
      changed.port = String(port);
      return changed.href;
    },
    restart: async () => {
      await kill();
      kill = await start();
    },
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
