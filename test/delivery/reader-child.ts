// A process of `reader-stage.ts`: it delivers what the store has, by a clock that is ahead of the machine's, until it is killed.
import { createSender } from '../../src/delivery/sender.ts';
import type { VapidKeys } from '../../src/protocol/vapid.ts';
import { openStoreAt } from '../../src/store/open-store-at.ts';
import type { StoreAddress } from '../../src/store/store.ts';
import { quickRetries } from './broadcast-bench.ts';

const { address, origin, vapidKeys, aheadMs } = JSON.parse(process.argv[2] ?? '') as {
  readonly address: StoreAddress;
  readonly origin: string;
  readonly vapidKeys: VapidKeys;
  readonly aheadMs: number;
};
const now = () => Date.now() + aheadMs;
const store = await openStoreAt({ ...address, options: { ...address.options, now } });
const sender = createSender({
  vapid: { ...vapidKeys, subject: 'mailto:push@example.org' },
  store,
  pushServices: [origin],
  threads: 0,
  retryPolicy: quickRetries,
  worker: { leaseMs: 1000 },
});
process.once('disconnect', () => process.exit());
await sender.work(new AbortController().signal);
