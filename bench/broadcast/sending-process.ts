// A process that sends one broadcast to all with the package as it is published, alone or together with others, and says on
// standard output how it is doing. `node sending-process.js ORDER_JSON`
import { readFileSync } from 'node:fs';
import { createSender, openDataDirectory } from 'deskbell';
import { broadcastMessage } from './message.ts';

export interface SendingOrder {
  readonly directory: string;
  /** PostgreSQL instead of the file in the directory. */
  readonly database: string | undefined;
  readonly origin: string;
  readonly caFile: string;
  readonly threads: number;
  /** Messages in flight at most, of each thread. */
  readonly inFlight: number | undefined;
}

/** The last line of its output. */
export interface SendingReport {
  readonly createdAtMs: number;
  readonly endedAtMs: number;
  readonly cpu: NodeJS.CpuUsage;
}

const order = JSON.parse(process.argv[2] ?? '') as SendingOrder;
const { directory, database, origin, caFile, threads, inFlight } = order;
const data = await openDataDirectory(directory, { database });
const sender = createSender({
  store: data.store,
  vapid: { ...data.vapidKeys, subject: 'mailto:bench@example.org' },
  pushServices: [origin],
  ca: [readFileSync(caFile, 'utf8')],
  threads,
  worker: inFlight === undefined ? {} : { maxPageRows: inFlight },
});
const createdAtMs = Date.now();
// whoever comes later goes on with the same one
const idempotencyKey = 'bench';
const run = await sender.broadcast('all', broadcastMessage, { idempotencyKey });
for await (const { settled, broadcast } of run.progress()) {
  console.log(JSON.stringify({ settled, state: broadcast.state }));
}
const { state, counts, recipients } = await run.finished;
await sender.close();
await data.close();
const endedAtMs = Date.now();
const report: SendingReport = { createdAtMs, endedAtMs, cpu: process.cpuUsage() };
console.log(JSON.stringify({ ...report, state, counts, recipients }));
