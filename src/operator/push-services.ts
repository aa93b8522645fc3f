// The state of push services, combined from the senders of all processes.
import type { ReportedPushService } from '../store/sending.ts';
import type { Store } from '../store/store.ts';

/** Combined figures of all senders. `latencyMs` is the highest, and `breaker` the most severe state. */
export interface PushServiceView extends ReportedPushService {
  /** The number of senders that use the push service now. */
  readonly senders: number;
  /** Public keys whose tokens the push service always refuses. Rows with these keys are held back. */
  readonly refusedKeys: readonly string[];
  readonly heldDeletions: number;
}

const idlePushService: Omit<PushServiceView, 'origin'> = {
  senders: 0,
  connections: 0,
  inFlight: 0,
  queued: 0,
  maxInFlight: 0,
  answers: 0,
  throttled: 0,
  breaker: 'closed',
  refusedKeys: [],
  heldDeletions: 0,
};

/**
 * Lists push services that are in use by a sender, refuse a VAPID key, or have held deletions. Sorted by origin.
 *
 * @param toName returns a name for an origin; origins with the same name are combined under that name
 */
export async function readPushServices(
  { senders, ledger, heldDeletions }: Pick<Store, 'senders' | 'ledger' | 'heldDeletions'>,
  toName = (origin: string): string => origin,
): Promise<readonly PushServiceView[]> {
  const views = new Map<string, PushServiceView>();
  const change = (of: string, update: (view: PushServiceView) => Partial<PushServiceView>): void => {
    const origin = toName(of);
    const view = views.get(origin) ?? { origin, ...idlePushService };
    views.set(origin, { ...view, ...update(view) });
  };
  for (const { pushServices } of await senders.list()) {
    for (const reported of pushServices) change(reported.origin, (view) => add(view, reported));
  }
  for (const { origin, vapidPublicKey, isSuspended } of await ledger.pushServices()) {
    if (isSuspended) change(origin, ({ refusedKeys }) => ({ refusedKeys: [...refusedKeys, vapidPublicKey] }));
  }
  for (const { origin, subscriptions } of await heldDeletions.list()) {
    change(origin, (view) => ({ heldDeletions: view.heldDeletions + subscriptions }));
  }
  return [...views.values()].toSorted((one, other) => (one.origin < other.origin ? -1 : 1));
}

const summed = ['connections', 'inFlight', 'queued', 'maxInFlight', 'answers', 'throttled'] as const;

function add(view: PushServiceView, reported: ReportedPushService): Partial<PushServiceView> {
  const isWorse = severity[reported.breaker] > severity[view.breaker];
  return {
    senders: view.senders + 1,
    ...Object.fromEntries(summed.map((name) => [name, view[name] + reported[name]])),
    latencyMs: largest(view.latencyMs, reported.latencyMs),
    unreachableMs: largest(view.unreachableMs, reported.unreachableMs),
    ...(isWorse && { breaker: reported.breaker, breakerReason: reported.breakerReason }),
  };
}

const largest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);

const severity = { closed: 0, 'half-open': 1, open: 2 } as const;
