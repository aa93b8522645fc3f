// Reports delivery: a line for each message (`--log-messages`), the log of `serve`, and what happens to broadcasts
// while this process works. Messages are JSON on standard output with `--json`, otherwise text on standard error.
import { hostname } from 'node:os';
import { isoTime, nonZeroCounts, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import {
  type BroadcastEvent,
  formatReachability,
  type ReachabilityEvent,
  watchBroadcasts,
  watchPushServices,
  watchWorkers,
  type WorkerEvent,
} from '../../delivery/broadcast/watch.ts';
import type { MessageRecord } from '../../delivery/reports/message-log.ts';
import type { Log } from '../../http/log.ts';
import type { Store } from '../../store/store.ts';
import { formatError } from '../output/failure.ts';
import type { Output } from '../output/output.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';

/** @param json whether the command prints JSON Lines */
export const printMessages =
  (output: Pick<Output, 'line' | 'diagnostic'>, json: boolean) =>
  (records: readonly MessageRecord[]): void => {
    for (const record of records) {
      if (json) void output.line(JSON.stringify(messageEvent(record)));
      else output.diagnostic(formatMessage(record));
    }
  };

/** The message as a log record. */
export const messageEvent = ({
  broadcastId: broadcast,
  subscriptionId: subscription,
  ...rest
}: MessageRecord) => ({
  event: 'message',
  broadcast,
  subscription,
  ...rest,
});

/** `Broadcast 7, subscription 17: rejected by fcm.googleapis.com, status 403, vapid-refused (attempt 1)` */
function formatMessage(record: MessageRecord): string {
  const { broadcastId, subscriptionId, pushService, outcome, attempt, status, reason } = record;
  const to =
    subscriptionId === undefined ? 'a subscription that is not stored' : `subscription ${subscriptionId}`;
  const what = [
    `${outcome} at ${pushServiceName(pushService)}`,
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return `${broadcastId === undefined ? 'Message' : `Broadcast ${broadcastId}`}, ${to}: ${what.join(', ')} (attempt ${attempt})`;
}

/**
 * Logs events, as errors if an operator must act.
 *
 * @param isUnlisted true for a push service whose outage is not an error
 */
export const logDelivery = (
  log: Log,
  isUnlisted: (origin: string) => boolean = () => false,
): DeliveryReport => ({
  event(event) {
    const { id, recipients } = event.broadcast;
    if (event.kind === 'alarm') {
      const { origin, reason, detail } = event.alarm;
      log.error({ event: 'alarm', broadcast: id, pushService: origin, reason, detail });
    } else {
      const counts = Object.fromEntries(nonZeroCounts(event.broadcast));
      log.info({ event: 'broadcast', broadcast: id, state: stateOf(event.broadcast), recipients, ...counts });
    }
  },
  worker({ state, machine, processId, startedAtMs }) {
    const record = { event: 'worker', machine, processId, state, startedAt: isoTime(startedAtMs) };
    if (state === 'lost') log.error(record);
    else log.info(record);
  },
  reachability(event) {
    const record = { event: 'push service', pushService: event.origin, state: event.state };
    const detail = formatReachability(event);
    if (event.state === 'reachable') log.info({ ...record, detail });
    else
      log[isUnlisted(event.origin) ? 'info' : 'error']({ ...record, since: isoTime(event.sinceMs), detail });
  },
  error: (error) => log.error({ event: 'delivery interrupted', detail: formatError(error) }),
});

export interface DeliveryReport {
  event(event: BroadcastEvent): void | Promise<void>;
  /** Absent if other processes are not reported. */
  worker?(event: WorkerEvent): void;
  /** A push service became unreachable, or reachable again. */
  reachability(event: ReachabilityEvent): void;
  /** Delivery or its report failed with this error and is being retried. */
  error(error: unknown): void;
}

/** How often to check the broadcasts that other processes deliver. */
const othersEveryMs = 2000;

/** If the database cannot be reached, all callers report the same error, and do so within about this time. */
const sameFaultMs = 10_000;

/** Reports an error only once, even if several callers report the same message within ten seconds. */
export function tellOnce(tell: (error: unknown) => void): (error: unknown) => void {
  let told = { words: '', atMs: Number.NEGATIVE_INFINITY };
  return (error) => {
    const words = String(error);
    const nowMs = performance.now();
    if (words === told.words && nowMs - told.atMs < sameFaultMs) return;
    told = { words, atMs: nowMs };
    tell(error);
  };
}

/**
 * Runs `work`, and reports until it ends.
 *
 * @param delivers whether `work` delivers broadcasts itself
 * @param work receives a function that reports errors
 */
export async function withReport(
  store: Pick<Store, 'broadcasts' | 'senders'>,
  report: DeliveryReport,
  {
    delivers,
    work,
  }: { readonly delivers: boolean; readonly work: (onFault: (error: unknown) => void) => Promise<void> },
): Promise<void> {
  // Watching stops only after the work has ended, so that the last results are also reported.
  const workEnded = new AbortController();
  const onError = tellOnce((error) => report.error(error));
  const everyMs = delivers ? undefined : othersEveryMs;
  const { signal } = workEnded;
  const working = work(onError).finally(() => workEnded.abort());
  const ends = await Promise.allSettled([
    working,
    forEach(watchBroadcasts(store.broadcasts, signal, onError, everyMs), (event) => report.event(event)),
    report.worker &&
      forEach(watchWorkers(store.senders, signal, onError), (event) => {
        if (!isThis(event)) report.worker?.(event);
      }),
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

const isThis = ({ machine, processId }: WorkerEvent): boolean =>
  machine === hostname() && processId === process.pid;
