import { clientFile } from '../../http/client-files.ts';
import type { ServiceApp } from '../../http/schema.ts';
import { serveFile } from '../../http/description/served-file.ts';

/** URL path, file in the client's folder, operation and summary. A service worker's path is its scope. */
const clientFiles = [
  ['/client/index.js', 'index.js', 'getPageLibrary', 'The page library'],
  ['/client/subscribe.js', 'subscribe.js', 'getSubscribeElement', 'The element `<deskbell-subscribe>`'],
  [
    '/client/subscribe/languages.js',
    'subscribe/languages.js',
    'getSubscribeElementLanguages',
    'What that element says in languages other than English',
  ],
  ['/service-worker.js', 'service-worker.js', 'getServiceWorker', 'The service worker'],
] as const;

export function addClientFiles(app: ServiceApp): void {
  for (const [path, file, operationId, summary] of clientFiles) {
    serveFile(app, path, {
      ...clientFile(file),
      operationId,
      tag: 'Files',
      summary,
      contentSecurityPolicy: "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    });
  }
}
