// The authenticator, alone: attached to a route by its annotation, it sees the request with body and session before
// there is an answer, and lets it pass or not.
import {
  createLog,
  createSessionAuthenticator,
  enforceAuthenticators,
  type ReadSession,
} from 'deskbell/service';
import Fastify from 'fastify';
import { serveOrCheck } from './serve-or-check.ts';

const log = createLog();
const authenticator = createSessionAuthenticator((session) => session === 'ada', log);
// Whatever your sessions are kept in.
const readSession: ReadSession = ({ headers }) =>
  typeof headers['x-user'] === 'string' ? { SESSION: headers['x-user'] } : {};

const app = Fastify();
enforceAuthenticators(app, readSession);
app.get('/greet', { config: { authenticator } }, () => ({ greeting: 'Hello, Ada' }));
app.get('/open', () => ({ greeting: 'Hello, anybody' }));
app.setErrorHandler((error, _request, reply) =>
  reply.code((error as { status?: number }).status ?? 500).send(),
);
app.addHook('onClose', () => log.close());

const address = await app.listen({ port: process.argv.includes('--check') ? 0 : 8080 });
await serveOrCheck(address, '/greet', () => app.close(), { headers: { 'x-user': 'ada' } });
