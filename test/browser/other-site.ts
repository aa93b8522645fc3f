// A site on another origin than the service: it brings its own page and copy of the service worker, and takes the
// page library and everything else from the service.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OtherSite {
  readonly url: string;
  close(): Promise<void>;
}

export async function startOtherSite(serviceUrl: string): Promise<OtherSite> {
  const serviceWorker = await (await fetch(`${serviceUrl}service-worker.js`)).text();
  const server = createServer((request, response) => {
    const isServiceWorker = request.url?.startsWith('/service-worker.js');
    response.setHeader('content-type', isServiceWorker ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(isServiceWorker ? serviceWorker : page(serviceUrl));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function page(serviceUrl: string): string {
  return `<!doctype html>
<title>Another site</title>
<ol></ol>
<script type="module">
  import { createClient } from '${serviceUrl}client/index.js';
  globalThis.client = createClient({ serviceUrl: '${serviceUrl}' });
  for await (const { title, message } of client.messages()) {
    const item = document.createElement('li');
    item.textContent = title + ': ' + message;
    document.querySelector('ol').append(item);
  }
</script>`;
}
