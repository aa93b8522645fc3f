// The action creator, alone: one entry, and it stands around every action that comes after. It sees the request with
// body and session, and of the answer only that there is one.
import { createLog, createLoggingActionCreator, useActionCreator } from 'deskbell/service';
import Fastify from 'fastify';
import { serveOrCheck } from './serve-or-check.ts';

const log = createLog();

const app = Fastify();
useActionCreator(app, createLoggingActionCreator(log), () => ({}));
app.get('/greet', () => ({ greeting: 'Hello' }));
app.addHook('onClose', () => log.close());

const address = await app.listen({ port: process.argv.includes('--check') ? 0 : 8080 });
await serveOrCheck(address, '/greet', () => app.close());
