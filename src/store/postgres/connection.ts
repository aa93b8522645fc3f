// Connects to the database with the package "pg", which is only installed if needed. Reads URLs as libpq does.
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import type { Client, ClientConfig, Pool, PoolConfig } from 'pg';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { checkDatabaseUrl, urlsOfHosts } from './database-url.ts';
import { connectToWritable, cut } from './writable-server.ts';
import type { ConnectionOptions } from './connection-options.ts';

export const defaultStatementTimeoutMs = 30_000;
export const defaultMaxConnections = 4;
const defaultConnectTimeoutMs = 5000;
const idleTimeoutMs = 60_000;
/** Detects broken idle connections, and keeps routers from dropping them. */
const keepAliveAfterMs = 30_000;
/** If the server has not cancelled a statement this long after its time limit, no response will arrive. */
const answerTimeoutMs = 5000;

/** @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION */
export async function openPool(
  {
    url,
    maxConnections = defaultMaxConnections,
    connectTimeoutMs,
    statementTimeoutMs = defaultStatementTimeoutMs,
  }: ConnectionOptions,
  settings: Readonly<Record<string, string>> | undefined = serverSettings(statementTimeoutMs),
): Promise<Pool> {
  try {
    checkDatabaseUrl(url);
  } catch (cause) {
    throw new DeskbellError('ERR_CONFIGURATION', `"url": ${(cause as Error).message}`, { cause });
  }
  checkTlsFiles(url);
  const pg = loadDriver();
  const pool = new pg.Pool({
    ...clientConfig({ url, connectTimeoutMs, statementTimeoutMs }),
    max: maxConnections,
    idleTimeoutMillis: idleTimeoutMs,
    types: { getTypeParser: typeParserOf(pg.types) },
    ...settings,
    Client: clientClass(pg.Client, url),
  } as PoolConfig);
  // a broken idle connection is replaced when it is needed
  pool.on('error', () => {});
  return pool;
}

/** Creates a connection outside the pool. The caller must connect it. */
export async function createClient(options: ConnectionOptions): Promise<Client> {
  const pg = loadDriver();
  return new (clientClass(pg.Client, options.url))(clientConfig(options));
}

/** Shared by all connections to a URL, so that they go to the host that is known to be writable. */
const classesOfSeveralHosts = new Map<string, typeof Client>();

function clientClass(driver: typeof Client, url: string): typeof Client {
  const urls = urlsOfHosts(url);
  const single = endingQuietly(driver, urls[0].searchParams.get('channel_binding') === 'require');
  if (urls.length === 1) return single;
  let chosen = classesOfSeveralHosts.get(url);
  if (chosen === undefined) {
    chosen = connectToWritable(single, urls.map(withLibpqTls));
    classesOfSeveralHosts.set(url, chosen);
  }
  return chosen;
}

/**
 * If a connection breaks while no statement runs, the next statement fails. The `error` listener keeps the process from
 * ending. If a connection cannot be made, it is closed here. Otherwise, `pg` would leave it open after some failed
 * logins, and the process would wait for the server to close it.
 */
const endingQuietly = (driver: typeof Client, mustBind: boolean): typeof Client =>
  class extends driver {
    constructor(config?: ClientConfig) {
      super(config);
      this.on('error', () => {});
      if (mustBind) requireChannelBinding(this);
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | void {
      const connected = super.connect().then(
        () => this,
        (error: unknown) => {
          cut(this);
          throw error;
        },
      );
      if (callback === undefined) return connected;
      const report = callback as (error?: Error) => void;
      connected.then(() => report(), report);
    }
  };

const boundMechanism = 'SCRAM-SHA-256-PLUS';

/** Implements libpq's `channel_binding=require`: `pg` would accept a server that does not offer channel binding. */
function requireChannelBinding({ connection }: Client): void {
  const refuse = (): void => {
    const reason = `its channel_binding is "require", and the server does not offer ${boundMechanism} over TLS`;
    connection.stream.destroy(new DeskbellError('ERR_CONFIGURATION', reason));
  };
  let isBound = false;
  // must run before the listeners of `pg`, which send the password
  connection.prependListener(
    'authenticationSASL',
    ({ mechanisms }: { readonly mechanisms: readonly string[] }) => {
      isBound = mechanisms.includes(boundMechanism);
      if (!isBound) refuse();
    },
  );
  for (const event of ['authenticationCleartextPassword', 'authenticationMD5Password'])
    connection.prependListener(event, refuse);
  connection.prependListener('authenticationOk', () => {
    if (!isBound) refuse();
  });
}

const clientConfig = ({
  url,
  connectTimeoutMs,
  statementTimeoutMs = defaultStatementTimeoutMs,
}: ConnectionOptions): ClientConfig => {
  const [first] = urlsOfHosts(url);
  const { searchParams } = first;
  const inUrlMs = Number(searchParams.get('connect_timeout')) * 1000;
  const binding = searchParams.get('channel_binding') ?? 'disable';
  return {
    connectionString: withLibpqTls(first),
    connectionTimeoutMillis: connectTimeoutMs ?? (inUrlMs || defaultConnectTimeoutMs),
    enableChannelBinding: binding !== 'disable',
    query_timeout: statementTimeoutMs + answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    fallback_application_name: 'deskbell',
  };
};

/** Settings of every connection. If a process hangs during a transaction, others must not wait for its locks. */
const serverSettings = (statementTimeoutMs: number): Readonly<Record<string, string>> => ({
  statement_timeout: String(statementTimeoutMs),
  idle_in_transaction_session_timeout: String(statementTimeoutMs),
});

function loadDriver(): typeof import('pg').default {
  try {
    return createRequire(import.meta.url)('pg') as typeof import('pg').default;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause;
    throw new DeskbellError(
      'ERR_PACKAGE_MISSING',
      'PostgreSQL needs the package "pg", which is not installed: run "npm install pg"',
      { cause },
    );
  }
}

/** Checks TLS files once. `pg` reads them for each connection, and a missing file looks like a missing server. */
function checkTlsFiles(text: string): void {
  const [{ searchParams }] = urlsOfHosts(text);
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = searchParams.get(name);
    if (path === null) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code;
      throw new DeskbellError('ERR_CONFIGURATION', `its ${name} "${path}" cannot be read (${reason})`, {
        cause,
      });
    }
  }
  if (searchParams.get('sslmode') === 'verify-ca' && !searchParams.has('sslrootcert')) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'its sslmode "verify-ca" needs sslrootcert: any other authority would certify anybody; or use verify-full',
    );
  }
}

/** Makes `pg` read `sslmode` as libpq does. By default it has its own interpretation. */
function withLibpqTls(address: URL): string {
  const url = new URL(address);
  // only libpq knows these parameters; see `writable-server.ts` and `clientConfig`
  for (const name of ['target_session_attrs', 'channel_binding', 'connect_timeout'])
    url.searchParams.delete(name);
  if (url.searchParams.has('sslmode')) url.searchParams.set('uselibpqcompat', 'true');
  return url.href;
}

const bigintOid = 20;
const numericOid = 1700;
const byteaOid = 17;

/** PostgreSQL's 64-bit numbers are below 2^53 here. Bytes become a `Uint8Array`, as with SQLite, not a `Buffer`. */
function typeParserOf(types: typeof import('pg').types) {
  const parseBytes = types.getTypeParser(byteaOid);
  return (oid: number, format?: 'text' | 'binary') => {
    if (oid === bigintOid || oid === numericOid) return Number;
    if (oid === byteaOid) return (text: string) => Uint8Array.from(parseBytes(text) as Uint8Array);
    return types.getTypeParser(oid, format as 'text');
  };
}
