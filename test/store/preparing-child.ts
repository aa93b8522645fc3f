// A process that prepares two ranges of the broadcast of a store that it is told, writes a dot for each, and waits to be killed.
// `node preparing-child.ts STORE_ADDRESS NOW_MS`
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { openStoreAt } from '../../src/store/open-store-at.ts';
import type { StoreAddress } from '../../src/store/store.ts';

const [address = '', nowMs = ''] = process.argv.slice(2);
const { database, options } = JSON.parse(address) as StoreAddress;
const now = () => Number(nowMs);
const { broadcasts, close } = await openStoreAt({ database, options: { ...options, now } });
const id = await broadcasts.findUnprepared();
if (id === undefined) throw new Error('No broadcast is to be prepared.');
const holder = randomUUID();
for (let ranges = 1; await broadcasts.prepare(id, holder); ranges += 1) {
  writeSync(1, '.');
  if (ranges === 2) await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
}
await close();
