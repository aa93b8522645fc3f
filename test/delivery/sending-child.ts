// A process for the crash tests: sends one broadcast to all, or goes on with it. What it has done stands in the store.
// `node sending-child.ts STORE_ADDRESS_JSON ORIGIN VAPID_KEYS_JSON THREADS [OPTIONS_JSON]`
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import type { StoreAddress } from '../../src/store/store.ts';
import { openAgain } from '../store/test-database.ts';
import type { VapidKeys } from '../../src/protocol/vapid.ts';

const [address = '', origin = '', keys = '', threads = '0', options = '{}'] = process.argv.slice(2);
const store = await openAgain({ address: JSON.parse(address) as StoreAddress });
const sender = createSender({
  vapid: { ...(JSON.parse(keys) as VapidKeys), subject: 'mailto:push@example.org' },
  store,
  pushServices: [origin],
  threads: Number(threads),
  worker: { leaseMs: 1000 },
  ...(JSON.parse(options) as Partial<SenderOptions>),
});
const run = await sender.broadcast(
  'all',
  { title: 'Ding dong', message: 'Tea is ready' },
  { idempotencyKey: 'crash' },
);
await run.finished;
await sender.close();
await store.close();
