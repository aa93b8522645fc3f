// Starts the service, registers the subscription that is on the command line, closes the service, and leaves the rest
// to the process: it ends when there is nothing left to do.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from '../../src/service/create-service.ts';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { fastFolder } from '../../tools/fast-folder.ts';

const subscription = JSON.parse(process.argv[2]!) as { endpoint: string };
const folder = await mkdtemp(join(fastFolder(), 'deskbell-registering-'));
const { store, vapidKeys, sessionKey } = await openDataDirectory(folder);
const ignore = (): void => {};
const app = createServer({
  store,
  vapidPublicKey: vapidKeys.publicKey,
  sessionKey,
  pushServices: [new URL(subscription.endpoint).origin],
  log: { info: ignore, error: ignore },
});
await app.listen({ host: '127.0.0.1', port: 0 });
const response = await fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/webPush`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(subscription),
});
assert.equal(response.status, 200);
await app.close();
await store.close();
await rm(folder, { recursive: true });
process.disconnect?.();
