// Looks at a store again and again, and yields what has happened since the look before.
import { setTimeout as sleep } from 'node:timers/promises';

export interface WatchOptions {
  /** Ends the watching. */
  readonly signal: AbortSignal;
  readonly everyMs: number;
  /** Called with the reason when the store cannot be read; once, until it can be read again. */
  readonly onError: (error: unknown) => void;
  /** Looks once more after the end, for what the work that has just ended came to. Default: false. */
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
