// A process for the durability tests: registers subscriptions as fast as it can and tells on standard output
// which ones were acknowledged. `node registering-child.ts DATABASE FIRST COUNT`
import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';

const [path = '', first = '0', count = '0'] = process.argv.slice(2);
const store = await openSqliteStore({ path });
const last = Number(first) + Number(count);

// bursts, as requests of one turn of the event loop arrive
for (let index = Number(first); index < last;) {
  const burst = Math.min(last - index, 1 + Math.floor(Math.random() * 8));
  await Promise.all(
    Array.from({ length: burst }, async (_, offset) => {
      await store.subscriptions.put(madeUpSubscription(index + offset), vapidPublicKey);
      writeSync(1, `${index + offset}\n`);
    }),
  );
  index += burst;
}
await store.close();
