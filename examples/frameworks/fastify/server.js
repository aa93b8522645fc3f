import { createService } from 'deskbell/service';
import Fastify from 'fastify';
import { sender, service } from './push.js';

const app = Fastify();
app.register(createService({ ...service, prefix: '/push' }));
app.get('/', (_request, reply) =>
  reply.type('text/html').send(`<!doctype html>
<title>Shop</title>
<script type="module" src="/push/client/subscribe.js"></script>
<deskbell-subscribe></deskbell-subscribe>`),
);
app.post('/notify', async (_request, reply) => {
  await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  return reply.code(204).send();
});
await app.listen({ port: Number(process.env.PORT ?? 3000) });
