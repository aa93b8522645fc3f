// Passes notices of new work on from the main thread to the process's other threads, so that a process has one connection
// for them. A thread of a process whose main thread has not opened the database hears nothing, and so polls.
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import type { ConnectionOptions } from './connection-options.ts';
import type { PostgresDatabase } from './database.ts';
import { everyBroadcast, WorkNotices, type Listener } from './work-notices.ts';

/** The notices of new work in one thread. */
export type Notices = Pick<WorkNotices, 'isHearing' | 'listen' | 'close'>;

/** Those of this thread. */
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

/** In other threads: what the main thread passes on. */
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
