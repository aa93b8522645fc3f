// A process that sends one broadcast to all, from dist/ as it is published, and says on standard output how it is
// doing. `node sending-process.ts DIRECTORY ORIGIN CA_FILE THREADS OPTION`
import { readFileSync } from 'node:fs';

const [directory = '', origin = '', caFile = '', threads = '2', option = 'plain'] = process.argv.slice(2);
const dist = new URL('../../dist/', import.meta.url);
const { createSender } = (await import(
  new URL('delivery/sender.js', dist).href
)) as typeof import('../../src/delivery/sender.ts');
const { openDataDirectory } = (await import(
  new URL('cli/data-directory.js', dist).href
)) as typeof import('../../src/cli/data-directory.ts');

const { createMetrics } = (await import(
  new URL('operator/metrics/metrics.js', dist).href
)) as typeof import('../../src/operator/metrics/metrics.ts');

const data = await openDataDirectory(directory);
const metrics = option === 'metrics' ? createMetrics(data.store) : undefined;
const reading = metrics && setInterval(() => void metrics.render(undefined), 1000);
const sender = createSender({
  store: data.store,
  receiptKey: data.receiptKey,
  onFigures: metrics?.recordFigures,
  vapid: { ...data.vapidKeys, subject: 'mailto:bench@example.org' },
  pushServices: [origin],
  ca: [readFileSync(caFile, 'utf8')],
  threads: Number(threads),
});
const createdAtMs = Date.now();
// 218 bytes of payload
const message = { title: 'Ding dong', message: 'Tea is ready. '.repeat(14).slice(0, 184) };
const run = await sender.broadcast('all', message, { receipts: option === 'receipts' });
for await (const { settled, broadcast } of run.progress()) {
  console.log(JSON.stringify({ settled, state: broadcast.state }));
}
const { state, counts, audience } = await run.finished;
clearInterval(reading);
await sender.close();
await data.close();
const endedAtMs = Date.now();
console.log(JSON.stringify({ createdAtMs, endedAtMs, state, counts, audience, cpu: process.cpuUsage() }));
