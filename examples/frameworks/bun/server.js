import { createHandler } from 'deskbell/service';
import { sender, service } from './push.js';

const push = createHandler({
  ...service,
  prefix: '/push',
  toRequest: ({ request }) => request,
  clientAddress: ({ request, server }) => server.requestIP(request)?.address,
});
Bun.serve({
  port: process.env.PORT ?? 3000,
  routes: {
    '/': new Response(Bun.file('index.html')),
    '/push/*': (request, server) => push({ request, server }),
    '/notify': async () => {
      await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
      return new Response(null, { status: 204 });
    },
  },
});
