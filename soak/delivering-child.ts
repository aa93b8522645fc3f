// A process for the soak tests that delivers what the store has, as `deskbell worker` does, until it gets SIGTERM.
// `node delivering-child.ts STORE_ADDRESS_JSON SENDER_OPTIONS_JSON`
import { createSender, type SenderOptions } from '../src/delivery/sender.ts';
import { openStoreAt } from '../src/store/open-store-at.ts';
import type { StoreAddress } from '../src/store/store.ts';

const [address = '', options = ''] = process.argv.slice(2);
// what tests open stores with would end this process by itself at a SIGTERM
const store = await openStoreAt(JSON.parse(address) as StoreAddress);
const sender = createSender({ ...(JSON.parse(options) as SenderOptions), store });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await sender.work(stop.signal);
await sender.close();
await store.close();
