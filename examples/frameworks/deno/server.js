import { createHandler } from 'deskbell/service';
import { sender, service } from './push.js';

const push = createHandler({
  ...service,
  prefix: '/push',
  toRequest: ({ request }) => request,
  clientAddress: ({ info }) => info.remoteAddr.hostname,
});
Deno.serve({ port: Number(Deno.env.get('PORT') ?? 3000) }, async (request, info) => {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith('/push/')) return push({ request, info });
  if (pathname === '/notify') {
    await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
    return new Response(null, { status: 204 });
  }
  const headers = { 'content-type': 'text/html' };
  return new Response(await Deno.readTextFile('index.html'), { headers });
});
