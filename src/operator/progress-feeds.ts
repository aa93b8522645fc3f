// How far broadcasts are, for any number of followers: each broadcast that is followed is read from the store once for all of
// them. A follower that does not keep up gets the newest state next, so that nothing piles up.
import { watchProgress, type Progress } from '../delivery/progress.ts';
import type { BroadcastStore } from '../store/broadcasts.ts';

export interface ProgressFeeds {
  /** Yields the present state and then each newer one; ends when the broadcast is over, or when `close` is called. */
  follow(broadcastId: number): AsyncGenerator<Progress>;
  /** How many broadcasts are being read. */
  readonly size: number;
  close(): void;
}

interface Feed {
  followers: number;
  latest: Progress | undefined;
  /** Counts the states. */
  version: number;
  isOver: boolean;
  /** Resolves at the next state, or at the end. */
  changed: PromiseWithResolvers<void>;
  readonly stopped: PromiseWithResolvers<void>;
}

/** @param onFault told why a broadcast cannot be read; its followers end then */
export function createProgressFeeds(
  store: BroadcastStore,
  onFault: (error: unknown) => void,
  everyMs = 500,
): ProgressFeeds {
  const feeds = new Map<number, Feed>();

  const advance = (feed: Feed): void => {
    feed.changed.resolve();
    feed.changed = Promise.withResolvers();
  };

  const read = async (id: number, feed: Feed): Promise<void> => {
    try {
      for await (const progress of watchProgress(store, id, feed.stopped.promise, everyMs)) {
        feed.latest = progress;
        feed.version += 1;
        advance(feed);
      }
    } catch (error) {
      onFault(error);
    } finally {
      feed.isOver = true;
      advance(feed);
      if (feeds.get(id) === feed) feeds.delete(id);
    }
  };

  const open = (id: number): Feed => {
    const feed: Feed = {
      followers: 0,
      latest: undefined,
      version: 0,
      isOver: false,
      changed: Promise.withResolvers(),
      stopped: Promise.withResolvers(),
    };
    feeds.set(id, feed);
    void read(id, feed);
    return feed;
  };

  const leave = (id: number, feed: Feed): void => {
    feed.followers -= 1;
    if (feed.followers > 0) return;
    feed.stopped.resolve();
    if (feeds.get(id) === feed) feeds.delete(id);
  };

  return {
    async *follow(id) {
      const feed = feeds.get(id) ?? open(id);
      feed.followers += 1;
      try {
        for (let seen = 0; ;) {
          const { changed } = feed;
          if (feed.latest !== undefined && feed.version > seen) {
            seen = feed.version;
            yield feed.latest;
          } else if (feed.isOver) return;
          else await changed.promise;
        }
      } finally {
        leave(id, feed);
      }
    },

    get size() {
      return feeds.size;
    },

    close() {
      for (const feed of feeds.values()) {
        feed.isOver = true;
        feed.stopped.resolve();
        advance(feed);
      }
    },
  };
}
