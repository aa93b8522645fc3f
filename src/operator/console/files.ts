// The console's style, scripts and icon: our own files, read once.
import type { FastifyInstance } from 'fastify';
import { readClientFile, readStyle } from '../../http/client-assets.ts';
import { represent, sendRepresentation, type Representation } from '../../http/etag.ts';

const script = 'text/javascript; charset=utf-8';

const files = [
  ['/console.css', 'text/css; charset=utf-8', () => readStyle('console/console.css')],
  ['/console.js', script, () => readClientFile('console/console.js')],
  ['/icon.svg', 'image/svg+xml', () => readClientFile('demo/icon.svg')],
  // Shows the notification of a test message in this browser.
  ['/service-worker.js', script, () => readClientFile('service-worker.js')],
] as const;

/** They hold nothing of this installation, and are there for the page that asks for the token, too. */
export function addFiles(app: FastifyInstance): void {
  for (const [path, contentType, read] of files) {
    let representation: Promise<Representation> | undefined;
    app.get(path, { config: { isOpen: true } }, async (request, reply) => {
      representation ??= read().then((text) => represent(text, contentType));
      return sendRepresentation(request, reply, await representation);
    });
  }
}
