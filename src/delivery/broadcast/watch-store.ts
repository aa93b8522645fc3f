// Reads a store again and again, and yields what has changed.
import { setTimeout as sleep } from 'node:timers/promises';

export interface WatchOptions {
  readonly signal: AbortSignal;
  readonly everyMs: number;
  /** Called once with the reason when the store cannot be read, and again only after it could be. */
  readonly onError: (error: unknown) => void;
  /** Looks once more after the end, to see the result of work that has just ended. Default: false. */
  readonly looksAfterEnd?: boolean;
}

export async function* watchStore<Event>(
  look: () => Promise<readonly Event[]>,
  { signal, everyMs, onError, looksAfterEnd = false }: WatchOptions,
): AsyncGenerator<Event> {
  let isFailing = false;
  for (let isLast = false; !isLast;) {
    isLast = signal.aborted;
    if (isLast && !looksAfterEnd) return;
    try {
      yield* await look();
      isFailing = false;
    } catch (error) {
      if (!isFailing) onError(error);
      isFailing = true;
    }
    if (!isLast) await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
}
