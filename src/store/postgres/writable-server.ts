// Which of a database's hosts is connected to: the one that takes writes. libpq does this for a URL with several hosts;
// `pg` does not. Hosts are tried in turn: each connection goes to the host that the last one was made to, until that
// cannot be reached or has become a standby. The next attempt, which whoever asked makes in a moment, goes to the host after it.
import type { Client, ClientConfig } from 'pg';
import { codeOf } from './database-errors.ts';

/** As a server itself says it to a statement that writes. */
const readOnlyCode = '25006';
/** SQLSTATE: the connection could not be made. */
const unreachableCode = '08001';

const isWritable = `
  select not (pg_is_in_recovery() or current_setting('transaction_read_only')::boolean) as is_writable
`;

/**
 * A class of connections, each of which is made to one of several hosts. What fails is an error that passes
 * (`database-errors.ts`), since the next host may be writable.
 *
 * @param driver the class of `pg`
 * @param urls one for each host
 */
export function connectToWritable(driver: typeof Client, urls: readonly string[]): typeof Client {
  let current = 0;
  /** The same host may fail several connections that are made at once. */
  const failed = (host: number): void => {
    if (host === current) current = (host + 1) % urls.length;
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
      try {
        await super.connect();
        const { rows } = await this.query<{ readonly is_writable: boolean }>(isWritable);
        if (rows[0]?.is_writable !== true) throw withCode(new Error('It is a standby.'), readOnlyCode);
        return this;
      } catch (error) {
        failed(this.#host);
        void this.end().catch(() => {});
        throw codeOf(error) === 'ENOTFOUND' ? withCode(error as Error, unreachableCode) : error;
      }
    }
  };
}

const withCode = (error: Error, code: string): Error => Object.assign(new Error(error.message), { code });
