// The service mounted in `node:http` under /push: as the middleware, or as the handler with a Request and a Response for each request,
// which frameworks make too. Arguments: `middleware` or `handler`, and a data directory.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { openDataDirectory } from 'deskbell';
import { createHandler, createMiddleware } from 'deskbell/service';

const [mount, folder] = process.argv.slice(2) as ['middleware' | 'handler', string];
const { store, vapidKeys, sessionKey } = await openDataDirectory(folder);
const options = {
  store,
  vapidPublicKey: vapidKeys.publicKey,
  sessionKey,
  pushOnly: true,
  logging: [],
  log: { info: () => {}, error: () => {} },
  registrationsPerMinute: 'off',
} as const;

const server = createServer(mount === 'middleware' ? asMiddleware() : asHandler());
server.listen(0, '127.0.0.1', () => {
  console.log(`It listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

function asMiddleware() {
  const push = createMiddleware(options);
  return (request: IncomingMessage, response: ServerResponse): void => {
    const originalUrl = request.url!;
    push(Object.assign(request, { originalUrl, url: originalUrl.slice('/push'.length) }), response);
  };
}

function asHandler() {
  const push = createHandler({ ...options, prefix: '/push' });
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url, headers } = incoming;
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const answer = await push(
      new Request(`http://127.0.0.1${url}`, {
        method,
        headers: headers as Record<string, string>,
        ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' }),
      }),
    );
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) await pipeline(Readable.fromWeb(answer.body as ReadableStream), outgoing);
    else outgoing.end();
  };
}
