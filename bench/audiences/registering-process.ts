// Registers subscriptions one after the other, as a service does, until it is told to stop, and says how long one waited.
import { setTimeout as sleep } from 'node:timers/promises';
import { openBenchStore } from './open-bench-store.ts';
import { newSubscription } from './seed-people.ts';

export interface Waits {
  readonly writes: number;
  readonly longestMs: number;
}

const pauseMs = 5;
const [database = ''] = process.argv.slice(2);
const store = await openBenchStore(database);
const stop = new AbortController();
process.once('message', () => stop.abort());

let writes = 0;
let longestMs = 0;
while (!stop.signal.aborted) {
  const startedAt = performance.now();
  await store.subscriptions.put(newSubscription(Date.now()), `B${'A'.repeat(86)}`);
  longestMs = Math.max(longestMs, performance.now() - startedAt);
  if (writes === 0) process.send?.('begun');
  writes += 1;
  await sleep(pauseMs);
}
await store.close();
process.send?.({ writes, longestMs });
process.disconnect?.();
