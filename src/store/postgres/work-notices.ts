// Notices of new work from any process: a separate connection runs LISTEN, and the tables run NOTIFY.
//
//   IDLE       nothing has waited for work yet
//   OPENING    listens, then sends itself a notice over another connection. It arrives → HEARING; otherwise → FAILED
//   HEARING    notices wake waiting workers. The connection ends → FAILED
//   FAILED     workers poll; after a pause → OPENING
//   CLOSED     the store is closed
//
// PgBouncer in transaction mode accepts LISTEN but delivers nothing, so only the arrival of a notice proves that
// more will arrive.
//
// The main thread passes notices on to the other threads, so that a process needs one connection for them. If the
// main thread has not opened the database, the others poll.
import { randomUUID } from 'node:crypto';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import type { Client } from 'pg';
import { createClient } from './connection.ts';
import { lookForEndEveryMs } from '../leases.ts';
import type { ConnectionOptions } from './connection-options.ts';
import type { PostgresDatabase } from './database.ts';
import { workChannel } from './migrations.ts';
import { cut } from './writable-server.ts';

const firstPauseMs = 1000;
/** The longest pause between attempts to listen. Behind PgBouncer, every attempt fails. */
const maxPauseMs = 60_000;
const proofWithinMs = 2000;

type Listener = () => void;

export class WorkNotices {
  readonly #database: PostgresDatabase;
  readonly #options: ConnectionOptions;
  readonly #listeners = new Set<Listener>();
  /** Here, other threads ask whether notices arrive. They get an answer at once, and again at each notice. */
  readonly #threads: BroadcastChannel;
  #endPassing: (() => void) | undefined;
  #state: 'IDLE' | 'OPENING' | 'HEARING' | 'FAILED' | 'CLOSED' = 'IDLE';
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = firstPauseMs;
  #isMissed = false;
  #gathering: NodeJS.Timeout | undefined;

  constructor(database: PostgresDatabase, options: ConnectionOptions) {
    this.#database = database;
    this.#options = options;
    this.#threads = openChannel(database.label);
    this.#threads.addEventListener('message', ({ data }) => {
      if (data !== asking) return;
      this.#endPassing ??= this.listen(() => this.#passOn());
      this.#passOn();
    });
  }

  /** True if notices of new work arrive. If not, workers must poll. */
  get isHearing(): boolean {
    return this.#state === 'HEARING';
  }

  /**
   * Calls `listener` whenever a broadcast may have work or has ended.
   *
   * @returns a function that ends these calls
   */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#state === 'IDLE') void this.#open();
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#state = 'CLOSED';
    if (this.#endPassing !== undefined) {
      this.#endPassing();
      this.#passOn();
    }
    this.#threads.close();
    clearTimeout(this.#timer);
    clearTimeout(this.#gathering);
    this.#drop();
  }

  async #open(): Promise<void> {
    this.#state = 'OPENING';
    let client: Client | undefined;
    try {
      client = await createClient(this.#options);
      if (!this.#isClosed) await this.#listen(client);
    } catch {
      this.#fail(client);
    }
  }

  async #listen(client: Client): Promise<void> {
    this.#client = client;
    const fail = (): void => this.#fail(client);
    client.on('error', fail).on('end', fail);
    await client.connect();
    // do not let the connection alone keep the process running
    (client as Client & { unref(): void }).unref();
    const proof = randomUUID();
    client.on('notification', ({ payload }) => {
      if (payload === proof) this.#hear(client);
      // anybody who can connect may send notices, so a notice is only a reason to look for work
      else this.#gather();
    });
    await client.query(`listen ${workChannel}`);
    await this.#database.query('select pg_notify($1, $2)', [workChannel, proof]);
    // the notice sent above may already have arrived, or the connection may have ended
    if (this.#client === client && !this.isHearing) this.#after(proofWithinMs, fail);
  }

  #hear(client: Client): void {
    if (this.#client !== client || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#state = 'HEARING';
    this.#pauseMs = firstPauseMs;
    // there may be work whose notice was sent before this process listened
    this.#notify();
  }

  #fail(client: Client | undefined): void {
    if (this.#client !== client || this.#isClosed || this.#state === 'FAILED') return;
    this.#state = 'FAILED';
    this.#drop();
    this.#after(this.#pauseMs, () => void this.#open());
    this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
    // tell workers that wait for notices to poll from now on
    this.#notify();
  }

  /** Wakes waiting workers at most every 50 ms, however many notices arrive. */
  #gather(): void {
    this.#isMissed = this.#gathering !== undefined;
    if (!this.#isMissed) this.#notify();
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      if (this.#isMissed) this.#gather();
    }, lookForEndEveryMs).unref();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #passOn(): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    this.#threads.postMessage(this.isHearing);
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) cut(client);
  }

  #after(ms: number, work: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(work, ms).unref();
  }

  get #isClosed(): boolean {
    return this.#state === 'CLOSED';
  }
}

/** What one thread uses to learn of new work. */
export type Notices = Pick<WorkNotices, 'isHearing' | 'listen' | 'close'>;

export const openNotices = (database: PostgresDatabase, options: ConnectionOptions): Notices =>
  isMainThread ? new WorkNotices(database, options) : new ThreadNotices(database.label);

/** Sent by a thread that begins to wait for work. */
const asking = 'ask';

/** The notices of other threads, passed on by the main thread. */
export class ThreadNotices implements Notices {
  readonly #channel: BroadcastChannel;
  readonly #listeners = new Set<Listener>();
  #hasAsked = false;
  isHearing = false;

  constructor(label: string) {
    this.#channel = openChannel(label);
    this.#channel.addEventListener('message', ({ data }) => {
      if (data === asking) return;
      this.isHearing = data as boolean;
      for (const listener of this.#listeners) listener();
    });
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    if (!this.#hasAsked) this.#channel.postMessage(asking);
    this.#hasAsked = true;
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#channel.close();
  }
}

function openChannel(label: string): BroadcastChannel {
  const channel = new BroadcastChannel(`deskbell work ${label}`);
  // do not let the channel alone keep the process running
  (channel as BroadcastChannel & { unref(): void }).unref();
  return channel;
}
