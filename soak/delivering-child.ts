// A process for the soak tests that delivers what the store has, as `deskbell worker` does, until it gets SIGTERM.
// `node delivering-child.ts STORE_ADDRESS_JSON SENDER_OPTIONS_JSON`
import { createSender, type SenderOptions } from '../src/delivery/sender.ts';
import type { Store, StoreAddress } from '../src/store/store.ts';

const [address = '', options = ''] = process.argv.slice(2);
const { moduleUrl, options: storeOptions } = JSON.parse(address) as StoreAddress;
// what tests open stores with would end this process by itself at a SIGTERM
const { openStore } = (await import(moduleUrl)) as { openStore(options: unknown): Promise<Store> };
const store = await openStore(storeOptions);
const sender = createSender({ ...(JSON.parse(options) as SenderOptions), store });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await sender.work(stop.signal);
await sender.close();
await store.close();
