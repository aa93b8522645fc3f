// Logging inside the action, alone: one record with the request and the answer, written by the action itself.
import { ActionRequest, createActionLogging, createLog } from 'deskbell/service';
import Fastify from 'fastify';
import { serveOrCheck } from './serve-or-check.ts';

const log = createLog();
const inAction = createActionLogging(log);
const noSession = () => ({});

const app = Fastify();
app.post('/greet', (request) =>
  inAction(new ActionRequest(request, noSession), () => ({ greeting: 'Hello' })),
);
app.addHook('onClose', () => log.close());

const address = await app.listen({ port: process.argv.includes('--check') ? 0 : 8080 });
await serveOrCheck(address, '/greet', () => app.close(), {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"name":"Ada"}',
});
