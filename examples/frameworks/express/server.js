import { createMiddleware } from 'deskbell/service';
import express from 'express';
import { sender, service } from './push.js';

const app = express();
app.use('/push', createMiddleware(service));
app.use(express.static('public'));
app.post('/notify', async (_request, response) => {
  await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  response.sendStatus(204);
});
app.listen(process.env.PORT ?? 3000);
