// A site on another origin than the service: it has its own page, and its own service worker, which imports a copy of
// Deskbell's; the page library and everything else comes from the service.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OtherSite extends AsyncDisposable {
  readonly url: string;
}

export async function startOtherSite(serviceUrl: string): Promise<OtherSite> {
  const importing = "importScripts('/scripts/deskbell.js');";
  const scripts: Readonly<Record<string, string>> = {
    '/service-worker.js': importing,
    '/moved-worker.js': importing,
    '/assets/worker.js': importing,
    '/scripts/deskbell.js': await (await fetch(`${serviceUrl}service-worker.js`)).text(),
  };
  const server = createServer((request, response) => {
    const script = scripts[new URL(request.url!, serviceUrl).pathname];
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(script ?? page(serviceUrl));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
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
