// Tells of new work as soon as any process stores it: LISTEN on a connection of its own, NOTIFY by the tables.
//
//   IDLE       nobody has waited for work yet
//   OPENING    connects and listens. A notice of its own, sent over another connection, has come → HEARING; not → FAILED
//   HEARING    what waits is woken by notices. The connection has ended → FAILED
//   FAILED     work is polled for; after a pause → OPENING
//   CLOSED     the store is closed
//
// PgBouncer in transaction mode takes LISTEN and then delivers nothing: only what has come proves that more will come.
import { randomUUID } from 'node:crypto';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import type { Client } from 'pg';
import { createClient } from './connection.ts';
import { lookForEndEveryMs } from '../leases.ts';
import type { ConnectionOptions } from './connection-options.ts';
import type { PostgresDatabase } from './database.ts';
import { workChannel } from './migrations.ts';

const firstPauseMs = 1000;
/** Behind PgBouncer it is tried in vain. */
const maxPauseMs = 60_000;
const proofWithinMs = 2000;
/** If there are more broadcasts than this, none is named. */
const maxGathered = 100;

type Listener = (broadcastId: number) => void;

export class WorkNotices {
  readonly #database: PostgresDatabase;
  readonly #options: ConnectionOptions;
  readonly #listeners = new Set<Listener>();
  #state: 'IDLE' | 'OPENING' | 'HEARING' | 'FAILED' | 'CLOSED' = 'IDLE';
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = firstPauseMs;
  readonly #gathered = new Set<number>();
  #gathering: NodeJS.Timeout | undefined;

  constructor(database: PostgresDatabase, options: ConnectionOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Whether notices arrive; otherwise work must be polled for. */
  get isHearing(): boolean {
    return this.#state === 'HEARING';
  }

  /**
   * Calls `listener` with the number of each broadcast that may have work, or has ended, from now on.
   *
   * @returns ends it
   */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#state === 'IDLE') void this.#open();
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#state = 'CLOSED';
    clearTimeout(this.#timer);
    clearTimeout(this.#gathering);
    await this.#drop();
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
    // it alone does not keep the process running
    (client as Client & { unref(): void }).unref();
    const proof = randomUUID();
    client.on('notification', ({ payload = '' }) => {
      if (payload === proof) this.#hear(client);
      // anybody who can connect may send notices: what they say is only a reason to look
      else if (/^[1-9]\d{0,15}$/.test(payload)) this.#gather(Number(payload));
    });
    await client.query(`listen ${workChannel}`);
    await this.#database.query('select pg_notify($1, $2)', [workChannel, proof]);
    // by now the proof may have come, or the connection may have ended
    if (this.#client === client && !this.isHearing) this.#after(proofWithinMs, fail);
  }

  #hear(client: Client): void {
    if (this.#client !== client || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#state = 'HEARING';
    this.#pauseMs = firstPauseMs;
    // what was told while nobody heard
    this.#notify(everyBroadcast);
  }

  #fail(client: Client | undefined): void {
    if (this.#client !== client || this.#isClosed || this.#state === 'FAILED') return;
    this.#state = 'FAILED';
    void this.#drop();
    this.#after(this.#pauseMs, () => void this.#open());
    this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
    // whoever waits for a notice polls from now on
    this.#notify(everyBroadcast);
  }

  /** However many notices come, those who wait are woken at most every 50 ms. */
  #gather(broadcastId: number): void {
    if (this.#gathering === undefined) this.#notify(broadcastId);
    else if (this.#gathered.size <= maxGathered) this.#gathered.add(broadcastId);
    this.#gathering ??= setTimeout(() => {
      const gathered = this.#gathered.size > maxGathered ? [everyBroadcast] : [...this.#gathered];
      this.#gathered.clear();
      this.#gathering = undefined;
      for (const id of gathered) this.#notify(id);
    }, lookForEndEveryMs).unref();
  }

  #notify(broadcastId: number): void {
    for (const listener of this.#listeners) listener(broadcastId);
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  #after(ms: number, work: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(work, ms).unref();
  }

  get #isClosed(): boolean {
    return this.#state === 'CLOSED';
  }
}

/** Stands for a broadcast's number when any of them may have changed. */
export const everyBroadcast = 0;

// The main thread passes notices on to the other threads, so that a process has one connection for them. If the main thread has not
// opened the database, the others poll.

/** The notices of new work in one thread. */
export type Notices = Pick<WorkNotices, 'isHearing' | 'listen' | 'close'>;

/** Opens the notices of this thread. */
export function openNotices(database: PostgresDatabase, options: ConnectionOptions): Notices {
  if (!isMainThread) return new ThreadNotices(database.label);
  const notices = new WorkNotices(database, options);
  const endPassing = passNoticesOn(notices, database.label);
  return {
    get isHearing() {
      return notices.isHearing;
    },
    listen: (listener) => notices.listen(listener),
    close: async () => {
      endPassing();
      await notices.close();
    },
  };
}

/** A thread begins to wait for work. */
const asking = 'ask';

interface Notice {
  /** The broadcast, or `everyBroadcast`. */
  readonly id: number;
  readonly isHearing: boolean;
}

/**
 * In the main thread: begins to listen once another thread asks for it.
 *
 * @param label of the database
 * @returns ends it
 */
export function passNoticesOn(notices: Omit<Notices, 'close'>, label: string): () => void {
  const channel = openChannel(label);
  let endListening: (() => void) | undefined;
  const notify = (id: number, { isHearing }: Pick<Notices, 'isHearing'> = notices): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    channel.postMessage({ id, isHearing } satisfies Notice);
  };
  channel.addEventListener('message', ({ data }) => {
    if (data !== asking) return;
    endListening ??= notices.listen((id) => notify(id));
    notify(everyBroadcast);
  });
  return () => {
    endListening?.();
    if (endListening !== undefined) notify(everyBroadcast, { isHearing: false });
    channel.close();
  };
}

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
      const { id, isHearing } = data as Notice;
      this.isHearing = isHearing;
      for (const listener of this.#listeners) listener(id);
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
  // it alone does not keep the process running
  (channel as BroadcastChannel & { unref(): void }).unref();
  return channel;
}
