// Connects to the database host that accepts writes. libpq does this for a URL with several hosts, but `pg` does not.
// Each connection goes to the same host as the last one, until this host cannot be reached or has become a standby.
// The next attempt then goes to the next host.
//
// A former primary may accept writes too, if it was cut off from its cluster or started again after a standby was
// promoted. Each promotion begins a higher timeline, so if two hosts accept writes, the one with the higher timeline
// is used. The other hosts are asked at the first connection, and every few seconds while there are connections. If
// a host was promoted later, connections to the former primary are cut. Failed hosts are not remembered, because
// their cluster may have returned to the former primary.
import type { Client, ClientBase, ClientConfig } from 'pg';
import { codeOf } from './database-errors.ts';

/** The code with which a read-only server refuses to write. */
const readOnlyCode = '25006';
/** SQLSTATE: the connection could not be made. */
const unreachableCode = '08001';
/** SQLSTATE: the connection has failed. */
const endedCode = '08006';
/** SQLSTATE: the connection was refused. */
const refusedCode = '08004';

const lookEveryMs = 5000;
/** A host that has not answered after this time is ignored. */
const lookAtMostMs = 1000;
const connectTimeoutMs = 5000;

interface Role {
  readonly is_writable: boolean;
  /** `null` for a standby. */
  readonly timeline: number | null;
}

// do not read the control file, which gets a new timeline only after the server has begun to use that timeline
const askRole = `
  select not (is_standby or current_setting('transaction_read_only')::boolean) as is_writable,
    case when not is_standby
      then ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer
    end as timeline
  from pg_is_in_recovery() as is_standby
`;

/**
 * Returns a class whose connections go to one of several hosts. If a connection fails, the error is temporary
 * (`database-errors.ts`), because the next host may be writable.
 *
 * @param driver class from `pg`, with a listener for errors
 * @param urls one URL for each host
 */
export function connectToWritable(driver: typeof Client, urls: readonly string[]): typeof Client {
  let current = 0;
  /** The timeline of the current host; 0 until it is known. */
  let timeline = 0;
  const connections = new Map<Client, { readonly host: number; readonly timeline: number }>();

  /** The current host remains a candidate even after a connection to it has failed. */
  const isNewest = (host: number, itsTimeline: number): boolean =>
    (host === current || itsTimeline >= timeline) &&
    [...connections.values()].every((other) => other.host === host || itsTimeline >= other.timeline);

  const use = (host: number, itsTimeline: number): void => {
    current = host;
    timeline = itsTimeline;
    for (const [connection, other] of connections) if (other.host !== host) cut(connection);
  };

  /** Moves to the next host. If several connections fail at once, only the first failure counts. */
  const failed = (host: number): void => {
    if (host !== current) return;
    current = (host + 1) % urls.length;
    timeline = 0;
  };

  let looking = Promise.resolve();
  let lookAtMs = Number.NEGATIVE_INFINITY;
  /** Asks the other hosts for their timelines, unless they have just been asked. */
  const look = (): Promise<void> => {
    if (performance.now() < lookAtMs) return looking;
    lookAtMs = performance.now() + lookEveryMs;
    const answers = urls.map(async (url, host) => {
      if (host === current) return;
      const itsTimeline = await timelineOf(driver, url);
      if (itsTimeline > timeline && isNewest(host, itsTimeline)) use(host, itsTimeline);
    });
    looking = Promise.all(answers).then(() => {});
    return looking;
  };

  let timer: NodeJS.Timeout | undefined;
  const keepLooking = (): void => {
    timer ??= setInterval(() => {
      if (connections.size > 0) return void look();
      clearInterval(timer);
      timer = undefined;
    }, lookEveryMs).unref();
  };

  return class extends driver {
    readonly #host: number;

    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: urls[current] });
      this.#host = current;
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | void {
      const connected = this.#connectAndCheck();
      if (callback === undefined) return connected;
      const report = callback as (error?: Error) => void;
      connected.then(() => report(), report);
    }

    async #connectAndCheck(): Promise<this> {
      let hasEnded = false;
      this.once('end', () => {
        hasEnded = true;
        connections.delete(this);
      });
      try {
        const looked = atMost(lookAtMostMs, look());
        await super.connect();
        const { rows } = await this.query<Role>(askRole);
        const its = rows[0]?.is_writable === true ? rows[0].timeline : null;
        if (its === null) throw withCode('It is a standby.', readOnlyCode);
        await looked;
        if (hasEnded) throw withCode('It has ended the connection.', endedCode);
        if (!isNewest(this.#host, its)) throw withCode('It is a former primary.', refusedCode);
        use(this.#host, its);
        connections.set(this, { host: this.#host, timeline: its });
      } catch (error) {
        failed(this.#host);
        void this.end().catch(() => {});
        throw codeOf(error) === 'ENOTFOUND' ? withCode((error as Error).message, unreachableCode) : error;
      }
      keepLooking();
      return this;
    }
  };
}

/** @returns 0 if the host is a standby or did not answer */
async function timelineOf(driver: typeof Client, url: string): Promise<number> {
  const client = new driver({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: connectTimeoutMs,
    fallback_application_name: 'deskbell',
  });
  try {
    const connected = client.connect();
    // do not let the connection alone keep the process running
    (client as Client & { unref(): void }).unref();
    await connected;
    const { rows } = await client.query<Role>(askRole);
    return rows[0]?.is_writable === true ? (rows[0].timeline ?? 0) : 0;
  } catch {
    return 0;
  } finally {
    void client.end().catch(() => {});
  }
}

/** Closes the socket at once, because a hung server would not respond to a graceful close. */
export function cut(client: ClientBase): void {
  (client as ClientBase & { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** Resolves when `work` does, or after `ms`. */
function atMost(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });
