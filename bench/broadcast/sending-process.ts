// A process that sends one broadcast to all and says on standard output how it is doing; killed and started again
// with the same key, it goes on. `node sending-process.ts DIRECTORY ORIGIN CA_FILE KEY THREADS`
import { readFileSync } from 'node:fs';
import { createSender } from '../../src/delivery/sender.ts';
import { openDataDirectory } from '../../src/store/data-directory.ts';

const [directory = '', origin = '', caFile = '', key = '', threads = '2'] = process.argv.slice(2);
const data = await openDataDirectory(directory);
const sender = createSender({
  store: data.store,
  vapid: { ...data.vapidKeys, subject: 'mailto:bench@example.org' },
  pushServices: [origin],
  ca: [readFileSync(caFile, 'utf8')],
  threads: Number(threads),
});
const createdAtMs = Date.now();
const run = await sender.broadcast(
  'all',
  { title: 'Ding dong', message: 'Tea is ready, and there is cake. '.repeat(5) },
  { idempotencyKey: key, topic: key },
);
for await (const { settled, broadcast } of run.progress()) {
  const { rss } = process.memoryUsage();
  console.log(JSON.stringify({ settled, state: broadcast.state, rss }));
}
const { state, counts, audience } = await run.finished;
await sender.close();
await data.close();
console.log(
  JSON.stringify({ createdAtMs, endedAtMs: Date.now(), state, counts, audience, cpu: process.cpuUsage() }),
);
