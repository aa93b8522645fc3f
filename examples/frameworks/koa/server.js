import { createMiddleware } from 'deskbell/service';
import Koa from 'koa';
import { sender, service } from './push.js';

const push = createMiddleware(service);
const app = new Koa();
app.use(async (context) => {
  const { method, path, req, res } = context;
  if (path.startsWith('/push/')) {
    context.respond = false;
    req.url = req.url.slice('/push'.length); // Koa keeps the whole in originalUrl
    push(req, res);
  } else if (method === 'POST' && path === '/notify') {
    await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
    context.status = 204;
  } else if (path === '/') {
    context.body = `<!doctype html>
<script type="module" src="/push/client/subscribe.js"></script>
<deskbell-subscribe></deskbell-subscribe>`;
  }
});
app.listen(process.env.PORT ?? 3000);
