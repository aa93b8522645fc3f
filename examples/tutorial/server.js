// A shop with one page and one order: Deskbell's service is under /push, and /orders sends a notification.
import { createSender, openDataDirectory } from 'deskbell';
import { createMiddleware } from 'deskbell/service';
import express from 'express';

// The folder is made on the first start. It has your keys and your subscribers: keep it.
const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data');
const sender = createSender({ store, vapid: { ...vapidKeys, subject: 'mailto:you@example.org' } });
// Also sends what is left from before a crash or a restart.
sender.work(new AbortController().signal, console.error);

const app = express();
app.use(express.static('public'));
app.use(
  '/push',
  createMiddleware({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true }),
);

app.post('/orders', async (_request, response) => {
  const run = await sender.broadcast('all', { title: 'New order', message: 'One cup of tea', url: '/' });
  const { counts } = await run.finished;
  response.json(counts);
});

app.listen(3000, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log('http://localhost:3000');
});
