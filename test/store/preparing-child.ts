// A process that prepares two ranges of the broadcast of a store that it is told, writes a dot for each, and waits to be killed.
// `node preparing-child.ts STORE_ADDRESS NOW_MS`
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import type { Store, StoreAddress } from '../../src/store/store.ts';

const [address = '', nowMs = ''] = process.argv.slice(2);
const { moduleUrl, options } = JSON.parse(address) as StoreAddress;
const { openStore } = (await import(moduleUrl)) as { openStore(options: object): Promise<Store> };
const { broadcasts, close } = await openStore({ ...(options as object), now: () => Number(nowMs) });
const id = await broadcasts.findUnprepared();
if (id === undefined) throw new Error('No broadcast is to be prepared.');
const holder = randomUUID();
for (let ranges = 1; await broadcasts.prepare(id, holder); ranges += 1) {
  writeSync(1, '.');
  if (ranges === 2) await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
}
await close();
