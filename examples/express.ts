// Deskbell inside an Express application: everything under /push.
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from 'deskbell';
import { createServer } from 'deskbell/service';
import express from 'express';
import { serveOrCheck } from './serve-or-check.ts';

// Keep this directory: it holds the keys and the subscriptions.
const data = await openDataDirectory(await mkdtemp(join(tmpdir(), 'deskbell-example-')));

const service = createServer({
  store: data.store,
  vapidPublicKey: data.vapidKeys.publicKey,
  sessionKey: data.sessionKey,
});
await service.ready();

const app = express();
app.get('/', (_request, response) => {
  response.json({ mine: 'The application’s own routes stay as they are.' });
});
// Ahead of any middleware that reads bodies.
app.use('/push', (request, response) => service.routing(request, response));

const server = app.listen(process.argv.includes('--check') ? 0 : 8080);
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
await serveOrCheck(`http://127.0.0.1:${port}`, '/push/vapidKey', async () => {
  server.close();
  await service.close();
  await data.close();
});
