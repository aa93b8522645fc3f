// Writes one audience down, in a process of its own, so that its memory is its own.
import { openBenchStore } from './open-bench-store.ts';

export interface WrittenAudience {
  readonly seconds: number;
  /** Of the processor. */
  readonly cpuSeconds: number;
  readonly members: number;
  /** Resident. */
  readonly startMegabytes: number;
  readonly mostMegabytes: number;
}

const [database = '', expression = ''] = process.argv.slice(2);
const store = await openBenchStore(database);
const residentMegabytes = (): number => process.memoryUsage.rss() / 1024 ** 2;

const startMegabytes = residentMegabytes();
let mostMegabytes = startMegabytes;
const sampling = setInterval(() => (mostMegabytes = Math.max(mostMegabytes, residentMegabytes())), 20);
const startedAt = performance.now();
const cpuAtStart = process.cpuUsage();
const audienceId = await store.broadcasts.openAudience();
const { broadcast } = await store.broadcasts.create({
  payload: new Uint8Array(1),
  ttlSeconds: 60,
  urgency: 'normal',
  contentHash: new Uint8Array(32),
  startAtMs: Date.now(),
  expiresAtMs: Date.now() + 60_000,
  audienceId,
  matching: JSON.parse(expression),
  sliceRows: 2000,
});
while (await store.broadcasts.prepare(broadcast.id, 'bench'));
const { recipients: members } = await store.broadcasts.get(broadcast.id);
const seconds = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage(cpuAtStart);
const cpuSeconds = (user + system) / 1e6;
clearInterval(sampling);
await store.broadcasts.cancel(broadcast.id);
await store.close();
process.send?.({ seconds, cpuSeconds, members, startMegabytes, mostMegabytes });
process.disconnect?.();
