// The client's files: the demo page, the page library and the service worker.
import { readClientFile } from '../http/client-source.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { serveFile } from '../served-file.ts';

const script = 'text/javascript; charset=utf-8';

/** What `client/index.ts` imports. */
const libraryModules = [
  'client',
  'client-error',
  'message-stream',
  'service-api',
  'stored-copy',
  'support',
  'worker-registration',
];

/** URL paths, the file of each in the client's folder, and its type. A service worker's path is its scope. */
const files = [
  ['/', 'demo/index.html', 'text/html; charset=utf-8', 'The demo page'],
  ['/client/demo/demo.js', 'demo/demo.js', script, 'Script of the demo page'],
  ['/client/demo/demo.css', 'demo/demo.css', 'text/css; charset=utf-8', 'Style of the demo page'],
  ['/client/demo/icon.svg', 'demo/icon.svg', 'image/svg+xml', 'Icon of the demo page'],
  ['/client/index.js', 'index.js', script, 'The page library'],
  ['/service-worker.js', 'service-worker.js', script, 'The service worker'],
  ...libraryModules.map(
    (name) => [`/client/${name}.js`, `${name}.js`, script, 'Module of the page library'] as const,
  ),
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function addClientFiles(app: ServiceApp): void {
  for (const [path, file, contentType, summary] of files) {
    serveFile(app, path, { summary, contentType, contentSecurityPolicy, read: () => readClientFile(file) });
  }
  // All addresses in the page are relative to its folder.
  if (app.prefix !== '') {
    app.get('', (_request, reply) => reply.redirect(`${app.prefix}/`, 308));
  }
}
