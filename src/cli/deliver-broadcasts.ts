// Delivers the broadcasts of a store until told to stop, and reports what happens to each of them.
import type { Sender } from '../delivery/sender.ts';
import { watchBroadcasts, type BroadcastEvent } from '../delivery/watch-broadcasts.ts';
import type { BroadcastStore } from '../store/broadcasts.ts';

export interface DeliveryReport {
  event(event: BroadcastEvent): void | Promise<void>;
  /** Delivery was interrupted by this error and is tried again. */
  error(error: unknown): void;
}

/** @param stop ends the work after the messages in flight */
export async function deliverBroadcasts(
  sender: Sender,
  store: BroadcastStore,
  report: DeliveryReport,
  stop: AbortSignal,
): Promise<void> {
  // Watching ends after the work, so that the last results are reported too.
  const workEnded = new AbortController();
  const onError = (error: unknown): void => report.error(error);
  const watch = async (): Promise<void> => {
    for await (const event of watchBroadcasts(store, workEnded.signal, onError)) {
      await report.event(event);
    }
  };
  const ends = await Promise.allSettled([
    sender.work(stop, onError).finally(() => workEnded.abort()),
    watch(),
  ]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
