// Watches a store by reading it repeatedly, and yields events of any process on any machine: broadcasts start, change
// state and raise alarms; push services become unreachable; processes start and stop delivering.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Alarm, type Broadcast, type BroadcastStore, isOver } from '../../store/broadcasts.ts';
import type { SenderReports, StoredSenderReport } from '../../store/sending.ts';
import { formatAlarm, formatState, stateOf } from './format-broadcast.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';

export interface WatchOptions {
  readonly signal: AbortSignal;
  readonly everyMs: number;
  /** Called with the reason if the store cannot be read; once for several failures in a row. */
  readonly onError: (error: unknown) => void;
  /** Whether to read once more after `signal` is aborted, to see how the work has ended. Default: false. */
  readonly looksAfterEnd?: boolean;
}

async function* watchStore<Event>(
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

export type BroadcastEvent =
  | { readonly kind: 'state'; readonly broadcast: Broadcast }
  | { readonly kind: 'alarm'; readonly broadcast: Broadcast; readonly alarm: Alarm };

/** A broadcast as read from the store, with its state at that time. The state also depends on the clock. */
interface BroadcastLook {
  readonly broadcast: Broadcast;
  readonly state: ReturnType<typeof stateOf>;
}

const broadcastsPollMs = 500;
/** If more broadcasts than this are created between two reads of the store, some are missed. */
const newestCount = 50;

/**
 * Yields events until `signal` is aborted. Omits broadcasts that were over before the first look.
 *
 * @param onError called with the reason if the store cannot be read; once for several failures in a row
 */
export function watchBroadcasts(
  store: BroadcastStore,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  everyMs = broadcastsPollMs,
): AsyncGenerator<BroadcastEvent> {
  let seen: ReadonlyMap<number, BroadcastLook> | undefined;
  const findEvents = async (): Promise<readonly BroadcastEvent[]> => {
    const before = seen;
    seen = await lookAtBroadcasts(store, before ?? new Map());
    return [...seen.values()]
      .filter(({ broadcast }) => before !== undefined || !isOver(broadcast))
      .flatMap((now) => compareBroadcasts(before?.get(now.broadcast.id), now));
  };
  return watchStore(findEvents, { signal, everyMs, onError, looksAfterEnd: true });
}

/** Returns the newest broadcasts, and older ones that were not over when last read. The oldest comes first. */
async function lookAtBroadcasts(
  store: BroadcastStore,
  seen: ReadonlyMap<number, BroadcastLook>,
): Promise<ReadonlyMap<number, BroadcastLook>> {
  const newest = (await store.list({ limit: newestCount })).toReversed();
  const newestIds = new Set(newest.map(({ id }) => id));
  const older = [...seen].filter(([id, { broadcast }]) => !newestIds.has(id) && !isOver(broadcast));
  const found = await store.findAll(older.map(([id]) => id));
  return new Map(
    [...found.toReversed(), ...newest].map((broadcast) => [
      broadcast.id,
      { broadcast, state: stateOf(broadcast) },
    ]),
  );
}

function compareBroadcasts(
  before: BroadcastLook | undefined,
  { broadcast, state }: BroadcastLook,
): readonly BroadcastEvent[] {
  const known = new Set(before?.broadcast.alarms.map(alarmKey));
  const raised = broadcast.alarms.filter((alarm) => !known.has(alarmKey(alarm)));
  return [
    ...raised.map((alarm) => ({ kind: 'alarm', broadcast, alarm }) as const),
    ...(state === before?.state ? [] : [{ kind: 'state', broadcast } as const]),
  ];
}

/** An alarm is raised once for each origin and reason. After that, only its number of rows grows. */
export const alarmKey = ({ origin, reason }: Alarm): string => `${origin} ${reason}`;

export function formatEvent(event: BroadcastEvent): string {
  return event.kind === 'alarm'
    ? `Broadcast ${event.broadcast.id}: ${formatAlarm(event.alarm)}`
    : formatState(event.broadcast);
}

export interface UnreachablePushService {
  readonly origin: string;
  readonly sinceMs: number;
  /** Why the last attempt failed. */
  readonly reason: string;
  /** See `ReportedPushService.obstacle`. */
  readonly obstacle?: string | undefined;
  /** The machines whose senders cannot reach the push service. */
  readonly machines: readonly string[];
}

/** `reachable`: the push service responds again, or the senders that could not reach it have ended. */
export type ReachabilityEvent =
  | ({ readonly state: 'unreachable' } & UnreachablePushService)
  | { readonly state: 'reachable'; readonly origin: string };

/** How often to read the reports of senders. */
const sendersPollMs = 2000;

/** Returns the push services ordered by origin. */
export function findUnreachable(reports: readonly StoredSenderReport[]): readonly UnreachablePushService[] {
  const found = new Map<string, UnreachablePushService>();
  for (const { machine, seenAtMs, pushServices } of reports) {
    for (const { origin, unreachableMs, breakerReason = '', obstacle } of pushServices) {
      if (unreachableMs === undefined) continue;
      const others = found.get(origin);
      found.set(origin, {
        origin,
        sinceMs: Math.min(seenAtMs - unreachableMs, others?.sinceMs ?? Infinity),
        reason: breakerReason === '' ? (others?.reason ?? '') : breakerReason,
        ...(obstacle !== undefined && { obstacle }),
        machines: [...new Set([...(others?.machines ?? []), machine])],
      });
    }
  }
  return [...found.values()].toSorted((one, other) => (one.origin < other.origin ? -1 : 1));
}

/** For example `push.example.net cannot be reached from push-1: ….` */
export function formatReachability(event: ReachabilityEvent): string {
  const host = pushServiceName(event.origin);
  if (event.state === 'reachable') return `${host} can be reached again.`;
  const from = event.machines.join(', ');
  return `${host} cannot be reached from ${from}. Its messages wait and are tried again. ${event.reason}`.trimEnd();
}

/**
 * Yields an event when a push service becomes unreachable or reachable again, until `signal` is aborted.
 *
 * @param onError called with the reason if the store cannot be read; once for several failures in a row
 */
export function watchPushServices(
  senders: Pick<SenderReports, 'list'>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  everyMs = sendersPollMs,
): AsyncGenerator<ReachabilityEvent> {
  let reported: ReadonlySet<string> = new Set();
  const findEvents = async (): Promise<readonly ReachabilityEvent[]> => {
    const found = findUnreachable(await senders.list());
    const before = reported;
    reported = new Set(found.map(({ origin }) => origin));
    return [
      ...found
        .filter(({ origin }) => !before.has(origin))
        .map((unreachable) => ({ state: 'unreachable', ...unreachable }) as const),
      ...[...before.difference(reported)].map((origin) => ({ state: 'reachable', origin }) as const),
    ];
  };
  return watchStore(findEvents, { signal, everyMs, onError });
}

/** A process that delivers. All its threads count as one. */
export interface WorkerProcess {
  readonly machine: string;
  readonly processId: number;
  readonly startedAtMs: number;
}

/** `stopped`: the process has withdrawn its reports. `lost`: the process has stopped renewing its reports. */
export interface WorkerEvent extends WorkerProcess {
  readonly state: 'started' | 'stopped' | 'lost';
}

interface WorkerLook extends WorkerProcess {
  readonly seenAtMs: number;
  /** How many times in a row the process's report was found unchanged. */
  readonly silentLooks: number;
}

/** Reports are renewed every eight seconds. A process is lost if its report is found unchanged this many times. */
const silentLooksOfLost = 6;

/**
 * Yields events until `signal` is aborted. Processes seen at the first look count as started.
 *
 * @param onError called with the reason if the store cannot be read; once for several failures in a row
 */
export function watchWorkers(
  senders: Pick<SenderReports, 'list'>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  everyMs = sendersPollMs,
): AsyncGenerator<WorkerEvent> {
  let seen: ReadonlyMap<string, WorkerLook> = new Map();
  const findEvents = async (): Promise<readonly WorkerEvent[]> => {
    const before = seen;
    seen = await lookAtWorkers(senders, before);
    return compareWorkers(before, seen);
  };
  return watchStore(findEvents, { signal, everyMs, onError });
}

async function lookAtWorkers(
  senders: Pick<SenderReports, 'list'>,
  seen: ReadonlyMap<string, WorkerLook>,
): Promise<ReadonlyMap<string, WorkerLook>> {
  const looks = new Map<string, WorkerLook>();
  for (const { kind, machine, processId, startedAtMs, seenAtMs } of await senders.list()) {
    if (kind !== 'worker') continue;
    const key = `${machine} ${processId}`;
    const newestMs = Math.max(seenAtMs, looks.get(key)?.seenAtMs ?? 0);
    const before = seen.get(key);
    const silentLooks = before?.seenAtMs === newestMs ? before.silentLooks + 1 : 0;
    // Reports are ordered by start, so the first worker's report says when the process started.
    const since = looks.get(key)?.startedAtMs ?? before?.startedAtMs ?? startedAtMs;
    looks.set(key, { machine, processId, startedAtMs: since, seenAtMs: newestMs, silentLooks });
  }
  return looks;
}

function compareWorkers(
  seen: ReadonlyMap<string, WorkerLook>,
  looks: ReadonlyMap<string, WorkerLook>,
): readonly WorkerEvent[] {
  const gone = [...seen].filter(([key]) => !looks.has(key));
  const come = [...looks].filter(([key]) => !seen.has(key));
  return [
    ...gone.map(([, last]) => toEvent(last, last.silentLooks < silentLooksOfLost ? 'stopped' : 'lost')),
    ...come.map(([, first]) => toEvent(first, 'started')),
  ];
}

const toEvent = (
  { machine, processId, startedAtMs }: WorkerProcess,
  state: WorkerEvent['state'],
): WorkerEvent => ({ state, machine, processId, startedAtMs });
