// A process for the crash tests: sends one broadcast to all, or goes on with it. What it has done stands in the store.
import { createSender } from '../../src/delivery/sender.ts';
import { openAgain } from '../store/test-database.ts';
import type { SendingTask } from './start-sending-child.ts';

const { address, origin, vapidKeys, options } = JSON.parse(process.argv[2] ?? '') as SendingTask;
const store = await openAgain({ address });
const sender = createSender({
  vapid: { ...vapidKeys, subject: 'mailto:push@example.org' },
  store,
  pushServices: [origin],
  worker: { leaseMs: 1000 },
  ...options,
});
const run = await sender.broadcast(
  'all',
  { title: 'Ding dong', message: 'Tea is ready' },
  { idempotencyKey: 'crash' },
);
await run.finished;
await sender.close();
await store.close();
