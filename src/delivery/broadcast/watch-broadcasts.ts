// Reports when broadcasts start, change their state and raise alarms, whichever process delivers them.
import { isOver, type Alarm, type Broadcast, type BroadcastStore } from '../../store/broadcasts.ts';
import { formatAlarm, formatState, stateOf } from './format-broadcast.ts';
import { watchStore } from './watch-store.ts';

export type BroadcastEvent =
  | { readonly kind: 'state'; readonly broadcast: Broadcast }
  | { readonly kind: 'alarm'; readonly broadcast: Broadcast; readonly alarm: Alarm };

/** A broadcast as last seen; its state depends on the clock too. */
interface BroadcastLook {
  readonly broadcast: Broadcast;
  readonly state: ReturnType<typeof stateOf>;
}

const broadcastsPollMs = 500;
/** More broadcasts than this between two looks, and some would be missed. */
const newestCount = 50;

/**
 * Yields events until `signal` is aborted. Leaves out what was over before the first look.
 *
 * @param onError called once with the reason when the store cannot be read, and again only after it could be
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

/** The newest broadcasts and the older ones that were not over at the last look, oldest first. */
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

/** An alarm is raised once for each origin and reason; afterwards only its number of rows grows. */
export const alarmKey = ({ origin, reason }: Alarm): string => `${origin} ${reason}`;

export function formatEvent(event: BroadcastEvent): string {
  return event.kind === 'alarm'
    ? `Broadcast ${event.broadcast.id}: ${formatAlarm(event.alarm)}`
    : formatState(event.broadcast);
}
