// Tells when broadcasts begin, raise alarms and end, whoever works on them.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broadcast, BroadcastStore } from '../store/broadcast-store.ts';
import { describeAlarm, formatCount, stateOf, toJson } from './broadcast-words.ts';
import type { Output } from './output.ts';

const lookEveryMs = 500;
/** Older ones have nothing new to tell. */
const newest = 50;

interface Seen {
  readonly state: string;
  readonly alarms: number;
}

/** Watches until `stop` is aborted. What was over before it began is not told. */
export async function watchBroadcasts(
  store: BroadcastStore,
  output: Output,
  { json }: { readonly json: boolean },
  stop: AbortSignal,
): Promise<void> {
  const seen = new Map<number, Seen>();
  for (let isFirst = true; ; isFirst = false) {
    for (const broadcast of (await store.list({ limit: newest })).toReversed()) {
      const state = stateOf(broadcast);
      const before = seen.get(broadcast.id) ?? { state: isFirst && isEnd(state) ? state : '', alarms: 0 };
      seen.set(broadcast.id, { state, alarms: broadcast.alarms.length });
      if (isFirst && isEnd(state)) continue;
      for (const alarm of broadcast.alarms.slice(before.alarms)) {
        await output.line(
          json
            ? JSON.stringify({ event: 'alarm', id: broadcast.id, ...alarm })
            : `Broadcast ${broadcast.id}: ${describeAlarm(alarm)}`,
        );
      }
      if (state !== before.state)
        await output.line(json ? eventOf(broadcast, state) : describe(broadcast, state));
    }
    if (stop.aborted) return;
    await sleep(lookEveryMs, undefined, { signal: stop }).catch(() => {});
  }
}

const isEnd = (state: string): boolean => state === 'done' || state === 'cancelled';

const eventOf = (broadcast: Broadcast, state: string): string =>
  JSON.stringify({ event: isEnd(state) ? 'summary' : 'broadcast', ...toJson(broadcast) });

function describe({ id, audience, counts }: Broadcast, state: string): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const words = parts.map(([name, count]) => `${formatCount(count)} ${name}`).join(', ');
  return `Broadcast ${id} to ${formatCount(audience)} is ${state}${words === '' ? '' : `: ${words}`}.`;
}
