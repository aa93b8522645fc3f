// A shop in Fastify with a login, and Deskbell inside it: customers hear of their own orders, on each of their browsers.
// Needs fastify, @fastify/cookie and @fastify/session.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import cookie from '@fastify/cookie';
import session from '@fastify/session';
import { createSender, openDataDirectory } from 'deskbell';
import { createService } from 'deskbell/service';
import Fastify from 'fastify';

declare module 'fastify' {
  interface Session {
    user?: string;
  }
}

// In place of your own.
const passwords = new Map([
  ['ada', 'lovelace'],
  ['charles', 'babbage'],
]);

// Keep this directory: it holds the keys and the subscriptions.
const { store, vapidKeys, sessionKey, close } = await openDataDirectory('deskbell-data');
// Besides those of browsers: none, but in tests.
const pushServices = process.env['PUSH_SERVICES']?.split(',') ?? [];
const sender = createSender({
  store,
  vapid: { ...vapidKeys, subject: 'mailto:shop@example.org' },
  pushServices,
});
// Also sends what is left from before a crash or a restart.
const stopping = new AbortController();
sender.work(stopping.signal, console.error);
const page = await readFile(new URL('shop.html', import.meta.url), 'utf8');

const app = Fastify();
await app.register(cookie);
await app.register(session, {
  secret: process.env['SESSION_SECRET'] ?? randomBytes(32).toString('hex'),
  saveUninitialized: false,
  cookie: { sameSite: 'lax', secure: 'auto' },
});
await app.register(
  createService({
    prefix: '/push',
    store,
    vapidPublicKey: vapidKeys.publicKey,
    sessionKey,
    pushOnly: true,
    pushServices,
    // Called before a subscription is stored. Without a login it stays whose it is.
    onSubscribe(_subscription, request) {
      const { user } = request.session;
      return user === undefined ? undefined : { user };
    },
  }),
);

app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
app.post<{ Body: Record<'user' | 'password', string> }>('/sign-in', async (request, reply) => {
  const { user, password } = request.body;
  if (!passwords.has(user) || passwords.get(user) !== password) return reply.code(401).send();
  await request.session.regenerate();
  request.session.user = user;
  return reply.code(204).send();
});
app.post('/sign-out', async (request, reply) => {
  await request.session.destroy();
  return reply.code(204).send();
});
app.post('/orders', async (request, reply) => {
  const { user } = request.session;
  if (user === undefined) return reply.code(401).send();
  await sender.broadcast({ user }, { title: 'Thank you', message: 'Your order is on its way.' });
  return reply.code(204).send();
});

console.log('The shop listens on', await app.listen({ port: Number(process.env['PORT'] ?? 3000) }));

process.once('SIGTERM', async () => {
  stopping.abort();
  await app.close(); // after the requests in progress
  await sender.close(); // after the messages in flight
  await close();
});
