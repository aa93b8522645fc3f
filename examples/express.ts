// Deskbell inside an Express application: everything under /push.
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from 'deskbell';
import { createMiddleware } from 'deskbell/service';
import express from 'express';
import { serveOrCheck } from './serve-or-check.ts';

// Keep this directory: it holds the keys and the subscriptions.
const data = await openDataDirectory(await mkdtemp(join(tmpdir(), 'deskbell-example-')));

const service = createMiddleware({
  store: data.store,
  vapidPublicKey: data.vapidKeys.publicKey,
  sessionKey: data.sessionKey,
});

const app = express();
// Bodies that are parsed ahead of the service are fine: it takes what is in request.body.
app.use(express.json());
app.get('/', (_request, response) => {
  response.json({ mine: 'The application’s own routes stay as they are.' });
});
app.use('/push', service);

const server = app.listen(process.argv.includes('--check') ? 0 : 8080);
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
await serveOrCheck(`http://127.0.0.1:${port}`, '/push/vapidKey', async () => {
  server.close();
  await service.close();
  await data.close();
});
