// Which push services cannot be reached, according to all senders on a store, on any machine.
import type { SenderReports, StoredSenderReport } from '../../store/sending.ts';
import { hostOf } from './format-broadcast.ts';
import { watchStore } from './watch-store.ts';

export interface UnreachablePushService {
  readonly origin: string;
  readonly sinceMs: number;
  /** How the last try failed. */
  readonly reason: string;
  /** As `ReportedPushService.obstacle`. */
  readonly obstacle?: string | undefined;
  /** The machines whose senders cannot reach it. */
  readonly machines: readonly string[];
}

/** `reachable`: it answers again, or the senders that could not reach it have ended. */
export type ReachabilityEvent =
  | ({ readonly state: 'unreachable' } & UnreachablePushService)
  | { readonly state: 'reachable'; readonly origin: string };

const reachabilityPollMs = 2000;

/** In the order of origins. */
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

/** `push.example.net cannot be reached from push-1: ….` */
export function formatReachability(event: ReachabilityEvent): string {
  const host = hostOf(event.origin);
  if (event.state === 'reachable') return `${host} can be reached again.`;
  const from = event.machines.join(', ');
  return `${host} cannot be reached from ${from}. Its messages wait and are tried again. ${event.reason}`.trimEnd();
}

/**
 * Yields an event when a push service becomes unreachable or reachable again, until `signal` is aborted.
 *
 * @param onError called once with the reason when the store cannot be read, and again only after it could be
 */
export function watchPushServices(
  senders: Pick<SenderReports, 'list'>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  everyMs = reachabilityPollMs,
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
