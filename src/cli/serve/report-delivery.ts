// Reports what happens to the broadcasts of a store, and which other processes deliver them, while this one works.
import { hostname } from 'node:os';
import { watchBroadcasts, type BroadcastEvent } from '../../delivery/broadcast/watch-broadcasts.ts';
import { watchPushServices, type ReachabilityEvent } from '../../delivery/broadcast/watch-push-services.ts';
import { watchWorkers, type WorkerEvent } from '../../delivery/broadcast/watch-workers.ts';
import type { Store } from '../../store/store.ts';

export interface DeliveryReport {
  event(event: BroadcastEvent): void | Promise<void>;
  /** Absent where nobody is to be told of other processes. */
  worker?(event: WorkerEvent): void;
  /** A push service cannot be reached, or can be again. */
  reachability(event: ReachabilityEvent): void;
  /** Delivery, or what is reported of it, was interrupted by this error and is tried again. */
  error(error: unknown): void;
}

/** How often a process looks at broadcasts that others deliver. */
const othersEveryMs = 2000;

/** A database that is away fails all that runs side by side, in these words and about at the same time. */
const sameFaultMs = 10_000;

/** Tells a fault once, however many report it in the same words within ten seconds. */
export function tellOnce(
  tell: (error: unknown) => void,
  nowMs = () => performance.now(),
): (error: unknown) => void {
  let told = { words: '', atMs: Number.NEGATIVE_INFINITY };
  return (error) => {
    const words = String(error);
    if (words === told.words && nowMs() - told.atMs < sameFaultMs) return;
    told = { words, atMs: nowMs() };
    tell(error);
  };
}

/**
 * Runs `work`, and reports until it ends.
 *
 * @param delivers whether `work` delivers broadcasts itself
 * @param work given what it tells faults that interrupt it
 */
export async function withReport(
  store: Pick<Store, 'broadcasts' | 'senders'>,
  report: DeliveryReport,
  {
    delivers,
    work,
  }: { readonly delivers: boolean; readonly work: (onFault: (error: unknown) => void) => Promise<void> },
): Promise<void> {
  // Watching ends after the work, so that the last results are reported too.
  const workEnded = new AbortController();
  const onError = tellOnce((error) => report.error(error));
  const everyMs = delivers ? undefined : othersEveryMs;
  const { signal } = workEnded;
  const working = work(onError).finally(() => workEnded.abort());
  const ends = await Promise.allSettled([
    working,
    forEach(watchBroadcasts(store.broadcasts, signal, onError, everyMs), (event) => report.event(event)),
    report.worker &&
      forEach(watchWorkers(store.senders, signal, onError, { isLeftOut: isThis }), report.worker),
    forEach(watchPushServices(store.senders, signal, onError), report.reachability),
  ]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

async function forEach<Event>(
  events: AsyncIterable<Event>,
  report: (event: Event) => void | Promise<void>,
): Promise<void> {
  for await (const event of events) await report(event);
}

const isThis = ({ machine, processId }: Pick<WorkerEvent, 'machine' | 'processId'>): boolean =>
  machine === hostname() && processId === process.pid;
