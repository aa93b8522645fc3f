// A process that sends single messages with the package as it is published: as fast as it can, or at a pace.
// `fork('sending-process.ts', [ORDER_JSON])`; it says "ready", begins when it is told to, and reports.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender, openDataDirectory } from 'deskbell';
import { broadcastMessage } from '../broadcast/message.ts';

export interface SingleOrder {
  readonly directory: string;
  readonly database: string;
  readonly origin: string;
  readonly caFile: string;
  /** Otherwise answers are stored nowhere. */
  readonly hasStore: boolean;
  /** Messages offered; as many as possible where it is not given. */
  readonly perSecond?: number | undefined;
  /** Until it is killed where it is not given. */
  readonly seconds?: number | undefined;
}

export interface SingleReport {
  readonly sent: number;
  /** From when a message was to be sent until `send` resolved. */
  readonly tookMs: readonly number[];
}

const inFlight = 64;
const tickMs = 2;

const order = JSON.parse(process.argv[2] ?? '') as SingleOrder;
const { directory, database, origin, caFile, hasStore, perSecond, seconds = Infinity } = order;
const data = await openDataDirectory(directory, { database });
const recipients = await data.store.subscriptions.page({ afterId: 0, limit: 10_000 });
const sender = createSender({
  store: hasStore ? data.store : undefined,
  vapid: { ...data.vapidKeys, subject: 'mailto:bench@example.org' },
  pushServices: [origin],
  ca: [readFileSync(caFile, 'utf8')],
});
let sent = 0;
const tookMs: number[] = [];
const send = async (dueAt: number): Promise<void> => {
  const { outcome } = await sender.send(recipients[sent++ % recipients.length]!, broadcastMessage);
  if (outcome.kind !== 'accepted') throw new Error(`A message was ${outcome.kind}.`);
  tookMs.push(performance.now() - dueAt);
};
await Promise.all(Array.from({ length: inFlight }, () => send(performance.now())));
process.send?.('ready');
await once(process, 'message');
sent = 0;
tookMs.length = 0;
const startedAt = performance.now();
const endAt = startedAt + seconds * 1000;
if (perSecond === undefined) {
  const sendOn = async (): Promise<void> => {
    while (performance.now() < endAt) await send(performance.now());
  };
  await Promise.all(Array.from({ length: inFlight }, sendOn));
} else await offer(perSecond);
const report: SingleReport = { sent, tookMs };
await sender.close();
await data.close();
process.send?.(report, () => process.exit());

/** Sends what is due, whether the messages before have been answered or not. */
async function offer(rate: number): Promise<void> {
  const sending: Promise<void>[] = [];
  for (let dueAt = startedAt; dueAt < endAt; await sleep(tickMs)) {
    for (; dueAt <= Math.min(performance.now(), endAt); dueAt += 1000 / rate) sending.push(send(dueAt));
  }
  await Promise.all(sending);
}
