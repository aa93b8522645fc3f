// What changes with time, for any number of followers: each thing that is followed is read once for all of them. A follower that
// does not keep up gets the newest state next, so that nothing piles up.

export interface SharedFeeds<Key, State> {
  /**
   * Yields the present state and then each newer one; ends when there is no further one, or when `close` is called.
   *
   * @param gone the follower has left: a generator that waits for a state that does not come cannot be told by `return`
   * @param read used where nobody follows it yet; to end when `stopped` resolves
   */
  follow(
    key: Key,
    gone: AbortSignal,
    read: (stopped: Promise<void>) => AsyncIterable<State>,
  ): AsyncGenerator<State>;
  /** How many things are being read. */
  readonly size: number;
  close(): void;
}

interface Feed<State> {
  followers: number;
  latest: { readonly state: State } | undefined;
  /** Counts the states. */
  version: number;
  isOver: boolean;
  /** Resolves at the next state, or at the end. */
  changed: PromiseWithResolvers<void>;
  readonly stopped: PromiseWithResolvers<void>;
}

/** @param onFault told why something cannot be read; its followers end then */
export function createSharedFeeds<Key, State>(onFault: (error: unknown) => void): SharedFeeds<Key, State> {
  const feeds = new Map<Key, Feed<State>>();
  let isClosed = false;

  const advance = (feed: Feed<State>): void => {
    feed.changed.resolve();
    feed.changed = Promise.withResolvers();
  };

  const readAll = async (key: Key, feed: Feed<State>, states: AsyncIterable<State>): Promise<void> => {
    try {
      for await (const state of states) {
        feed.latest = { state };
        feed.version += 1;
        advance(feed);
      }
    } catch (error) {
      onFault(error);
    } finally {
      feed.isOver = true;
      advance(feed);
      if (feeds.get(key) === feed) feeds.delete(key);
    }
  };

  const open = (key: Key, read: (stopped: Promise<void>) => AsyncIterable<State>): Feed<State> => {
    const feed: Feed<State> = {
      followers: 0,
      latest: undefined,
      version: 0,
      isOver: false,
      changed: Promise.withResolvers(),
      stopped: Promise.withResolvers(),
    };
    feeds.set(key, feed);
    void readAll(key, feed, read(feed.stopped.promise));
    return feed;
  };

  const leave = (key: Key, feed: Feed<State>): void => {
    feed.followers -= 1;
    if (feed.followers > 0) return;
    feed.stopped.resolve();
    if (feeds.get(key) === feed) feeds.delete(key);
  };

  return {
    async *follow(key, gone, read) {
      // a request that was being answered when the listener began to close
      if (isClosed || gone.aborted) return;
      const feed = feeds.get(key) ?? open(key, read);
      feed.followers += 1;
      const wake = (): void => advance(feed);
      gone.addEventListener('abort', wake);
      try {
        for (let seen = 0; !gone.aborted;) {
          const { changed } = feed;
          if (feed.latest !== undefined && feed.version > seen) {
            seen = feed.version;
            yield feed.latest.state;
          } else if (feed.isOver) return;
          else await changed.promise;
        }
      } finally {
        gone.removeEventListener('abort', wake);
        leave(key, feed);
      }
    },

    get size() {
      return feeds.size;
    },

    close() {
      isClosed = true;
      for (const feed of feeds.values()) {
        feed.isOver = true;
        feed.stopped.resolve();
        advance(feed);
      }
    },
  };
}
