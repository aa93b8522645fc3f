// How far broadcasts are, for any number of followers.
import { watchProgress, type Progress } from '../delivery/broadcast/progress.ts';
import type { BroadcastStore } from '../store/broadcasts.ts';
import { createSharedFeeds, type SharedFeeds } from './shared-feed.ts';

export interface ProgressFeeds extends Pick<SharedFeeds<number, Progress>, 'size' | 'close'> {
  /** Yields the present state and then each newer one; ends when the broadcast is over, when `close` is called, or on `gone`. */
  follow(broadcastId: number, gone: AbortSignal): AsyncGenerator<Progress>;
}

/** @param onFault told why a broadcast cannot be read; its followers end then */
export function createProgressFeeds(
  store: BroadcastStore,
  onFault: (error: unknown) => void,
  everyMs = 500,
): ProgressFeeds {
  const feeds = createSharedFeeds<number, Progress>(onFault);
  return {
    follow: (id, gone) => feeds.follow(id, gone, (stopped) => watchProgress(store, id, stopped, everyMs)),
    get size() {
      return feeds.size;
    },
    close: () => feeds.close(),
  };
}
