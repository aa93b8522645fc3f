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
  const message = { title: 'New order', message: 'One cup of tea', url: '/' };
  const { broadcast } = await sender.broadcast('all', message);
  response.json({ broadcast: broadcast.id, recipients: broadcast.recipients });
});

app.listen(3000, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log('http://localhost:3000');
});
