// The global filter, alone: one record per request whatever becomes of it, and Request-Time on every answer. It sees
// neither bodies nor sessions.
import { createLog, createLoggingFilter, enableFilters } from 'deskbell/service';
import Fastify from 'fastify';
import { serveOrCheck } from './serve-or-check.ts';

const log = createLog();

const app = Fastify();
enableFilters(app, [createLoggingFilter(log)]);
app.get('/greet', () => ({ greeting: 'Hello' }));
app.addHook('onClose', () => log.close());

const address = await app.listen({ port: process.argv.includes('--check') ? 0 : 8080 });
await serveOrCheck(address, '/greet', () => app.close());
