// A site with service workers of its own that make its pages work offline; it has each in the forms in which sites add
// Deskbell's to theirs, and one that has not. Its pages have the page library as `createClient` and register nothing.
import { join } from 'node:path';
import { build } from 'esbuild';
import { type Site, startSite } from './site.ts';

export interface Shop extends Site {
  /** What its service workers report: that they were activated, and with what subscriptions changed. */
  readonly reports: readonly string[];
  /** Its scripts are those of this version from now on. */
  release(version: number): void;
  /** What its `plain.js` is from now on. */
  plainWorker: string;
  /** Whether the page library finds a script beside the page that it could register. */
  hasScriptBesidePage: boolean;
  /** Its `held.js` is not answered before. */
  answerHeld(): void;
}

/** How a site adds Deskbell's service worker to its own: the script, and the options it is registered with. */
export const forms = [
  { title: 'importScripts()', script: '/shop/sw.js', options: {} },
  { title: 'import in a module', script: '/shop/module.js', options: { type: 'module' } },
  { title: 'a bundler', script: '/shop/bundled.js', options: {} },
] as const;

export const importingWorker = (version: number) =>
  `importScripts('/shop/copies/deskbell.js');${offline(version)}`;

/** It keeps its pages in a cache of each version, and deletes all caches that it does not know. */
export const offline = (version: number) => `
  const report = (text) => fetch('/report?' + encodeURIComponent(text)).catch(() => undefined);
  addEventListener('install', (event) =>
    event.waitUntil(caches.open('shop-${version}').then((cache) => cache.add('/shop/'))));
  addEventListener('activate', (event) => event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name !== 'shop-${version}') await caches.delete(name);
    await report('activated ${version}');
  })()));
  addEventListener('fetch', (event) => {
    if (event.request.mode !== 'navigate') return;
    event.respondWith(fetch(event.request).catch(() => caches.match('/shop/')));
  });
  addEventListener('pushsubscriptionchange', ({ oldSubscription, newSubscription }) =>
    report('changed ' + Boolean(oldSubscription) + ' ' + Boolean(newSubscription)));`;

/** It answers from its cache whatever it has answered once. */
const cacheFirst = `importScripts('/shop/copies/deskbell.js');
  addEventListener('fetch', (event) => {
    if (event.request.method === 'GET') event.respondWith(cacheFirst(event.request));
  });
  async function cacheFirst(request) {
    const cached = await caches.match(request);
    if (cached) return cached;
    const response = await fetch(request);
    await (await caches.open('everything')).put(request, response.clone());
    return response;
  }`;

export async function startShop(serviceUrl: string): Promise<Shop> {
  const deskbell = await (await fetch(`${serviceUrl}service-worker.js`)).text();
  let version = 1;
  const reports: string[] = [];
  const held = Promise.withResolvers<void>();
  const scripts: Readonly<Record<string, () => string | Promise<string>>> = {
    '/shop/copies/deskbell.js': () => deskbell,
    '/shop/sw.js': () => importingWorker(version),
    '/shop/module.js': () => `import '/shop/copies/deskbell.js';${offline(version)}`,
    '/shop/bundled.js': () => bundle(version),
    '/shop/service-worker.js': () => (shop.hasScriptBesidePage ? deskbell : ''),
    '/shop/plain.js': () => shop.plainWorker,
    '/shop/cache-first.js': () => cacheFirst,
    '/shop/held.js': () => held.promise.then(() => importingWorker(version)),
    '/shop/assets/worker.js': () => deskbell,
    '/blog/worker.js': () => deskbell,
    '/strict/service-worker.js': () => deskbell,
  };
  const site = await startSite(async (request, response) => {
    const { pathname, search } = new URL(request.url!, serviceUrl);
    if (pathname === '/report') reports.push(decodeURIComponent(search.slice(1)));
    const script = await scripts[pathname]?.();
    if (!script && pathname.endsWith('.js')) response.statusCode = 404;
    if (pathname === '/strict/') {
      response.setHeader(
        'content-security-policy',
        `require-trusted-types-for 'script'; ${decodeURIComponent(search.slice(1))}`,
      );
    }
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(script ?? page(serviceUrl));
  });
  const shop: Shop = {
    ...site,
    url: `${site.url}shop/`,
    reports,
    release: (next) => void (version = next),
    plainWorker: offline(1),
    hasScriptBesidePage: false,
    answerHeld: held.resolve,
  };
  return shop;
}

async function bundle(version: number): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: `import 'deskbell/service-worker.js';${offline(version)}` },
    alias: { 'deskbell/service-worker.js': join(import.meta.dirname, '../../src/client/service-worker.ts') },
    bundle: true,
    format: 'iife',
    write: false,
  });
  return outputFiles[0]!.text;
}

const page = (serviceUrl: string) => `<!doctype html>
<title>A shop</title>
<ol></ol>
<script type="module">
  import { createClient } from '${serviceUrl}client/index.js';
  globalThis.start = (options) => {
    globalThis.client = createClient({ serviceUrl: '${serviceUrl}', ...options });
    client.addEventListener('message', ({ data }) => {
      const item = document.createElement('li');
      item.textContent = data.title;
      document.querySelector('ol').append(item);
    });
  };
</script>`;
