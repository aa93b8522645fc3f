// GET /: a page that subscribes a browser and shows what it receives.
import { readClientFile } from '../http/client-source.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { serveFile } from '../served-file.ts';

const files = [
  ['/', 'demo/index.html', 'text/html; charset=utf-8', 'The demo page'],
  ['/client/demo/demo.js', 'demo/demo.js', 'text/javascript; charset=utf-8', 'Script of the demo page'],
  ['/client/demo/demo.css', 'demo/demo.css', 'text/css; charset=utf-8', 'Style of the demo page'],
  ['/client/demo/icon.svg', 'demo/icon.svg', 'image/svg+xml', 'Icon of the demo page'],
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function addDemoPage(app: ServiceApp): void {
  for (const [path, file, contentType, summary] of files) {
    serveFile(app, path, {
      tag: 'Demonstration',
      summary,
      contentType,
      contentSecurityPolicy,
      read: () => readClientFile(file),
    });
  }
  // All addresses in the page are relative to its folder.
  if (app.prefix !== '') {
    app.get('', (_request, reply) => reply.redirect(`${app.prefix}/`, 308));
  }
}
