// Deskbell inside a Fastify application: everything under /push, and the application told of each subscription.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from 'deskbell';
import { createService } from 'deskbell/service';
import Fastify from 'fastify';
import { serveOrCheck } from './serve-or-check.ts';

// Keep this directory: it holds the keys and the subscriptions.
const data = await openDataDirectory(await mkdtemp(join(tmpdir(), 'deskbell-example-')));

const app = Fastify();
app.get('/', () => ({ mine: 'The application’s own routes stay as they are.' }));
app.register(
  createService({
    prefix: '/push',
    store: data.store,
    vapidPublicKey: data.vapidKeys.publicKey,
    sessionKey: data.sessionKey,
    onSubscribe: (_subscription, request) => console.log(`a subscription came from ${request.ip}`),
  }),
);
app.addHook('onClose', () => data.close());

const address = await app.listen({ port: process.argv.includes('--check') ? 0 : 8080 });
await serveOrCheck(address, '/push/vapidKey', () => app.close());
