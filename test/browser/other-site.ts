// A site on another origin than the service: it has its own page, and its own service worker, which imports a copy of
// Deskbell's; the page library and everything else comes from the service.
import { type Site, startSite } from './site.ts';

export async function startOtherSite(serviceUrl: string): Promise<Site> {
  const importing = "importScripts('/scripts/deskbell.js');";
  const scripts: Readonly<Record<string, string>> = {
    '/service-worker.js': importing,
    '/moved-worker.js': importing,
    '/assets/worker.js': importing,
    '/hooks/worker.js': hookedWorker,
    '/scripts/deskbell.js': await (await fetch(`${serviceUrl}service-worker.js`)).text(),
  };
  return startSite((request, response) => {
    const script = scripts[new URL(request.url!, serviceUrl).pathname];
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(script ?? page(serviceUrl));
  });
}

/** Changes what is shown. */
const hookedWorker = `
  importScripts('/scripts/deskbell.js');
  self.deskbell = {
    async beforeShow({ title, url }) {
      if (title === 'broken') throw new Error('beforeShow is broken');
      if (title === 'same') return undefined;
      return { title: title.toUpperCase(), data: { from: url }, tag: 'changed', url: undefined };
    },
  };`;

/** Subscribes the page with that service worker. */
export const subscribeWithHooks = (serviceUrl: string): string => `
  import('${serviceUrl}client/index.js').then(({ createClient }) =>
    createClient({ serviceUrl: '${serviceUrl}', serviceWorkerUrl: '/hooks/worker.js' })
      .subscribe()
      .then(() => undefined))`;

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
