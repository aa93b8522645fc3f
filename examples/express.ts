// A shop in Express with a login, and Deskbell inside it: customers hear of their own orders, on each of their browsers.
// Needs express and express-session.
import { randomBytes } from 'node:crypto';
import { createSender, openDataDirectory } from 'deskbell';
import { createMiddleware } from 'deskbell/service';
import express from 'express';
import session from 'express-session';

declare module 'express-session' {
  interface SessionData {
    user: string;
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

const app = express();
app.use(express.json());
app.use(
  session({
    secret: process.env['SESSION_SECRET'] ?? randomBytes(32).toString('hex'),
    resave: false,
    saveUninitialized: false,
    cookie: { sameSite: 'lax' },
  }),
);
const push = createMiddleware<express.Request>({
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
});
app.use('/push', push);

app.get('/', (_request, response) => {
  response.sendFile('shop.html', { root: import.meta.dirname });
});
app.post('/sign-in', (request, response) => {
  const { user, password } = request.body as Record<'user' | 'password', string>;
  if (!passwords.has(user) || passwords.get(user) !== password) {
    response.sendStatus(401);
    return;
  }
  request.session.regenerate(() => {
    request.session.user = user;
    response.sendStatus(204);
  });
});
app.post('/sign-out', (request, response) => {
  request.session.destroy(() => response.sendStatus(204));
});
app.post('/orders', async (request, response) => {
  const { user } = request.session;
  if (user === undefined) {
    response.sendStatus(401);
    return;
  }
  await sender.broadcast({ user }, { title: 'Thank you', message: 'Your order is on its way.' });
  response.sendStatus(204);
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), 'localhost', (error) => {
  if (error) throw error;
  console.log('The shop listens on', server.address());
});

process.once('SIGTERM', async () => {
  server.close(); // no new connections
  stopping.abort();
  await push.close(); // after the requests in progress
  await sender.close(); // after the messages in flight
  await close();
  server.closeAllConnections();
});
