import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { createHandler } from 'deskbell/service';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { sender, service } from './push.js';

const push = createHandler<Context>({
  ...service,
  prefix: '/push',
  toRequest: (context) => context.req.raw,
  clientAddress: (context) => getConnInfo(context).remote.address,
});
const app = new Hono().all('/push/*', push);
app.get('/', (context) =>
  context.html(
    html`<!doctype html>
      <script type="module" src="/push/client/subscribe.js"></script>
      <deskbell-subscribe></deskbell-subscribe>`,
  ),
);
app.post('/notify', async (context) => {
  await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  return context.body(null, 204);
});
serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000) });
