// The console's style, scripts and icon: our own files, read once.
import type { FastifyInstance } from 'fastify';
import { clientFile, readOnce, sendRepresentation } from '../../http/client-files.ts';

const files = [
  ['/console.css', 'console/console.css'],
  ['/console.js', 'console/console.js'],
  ['/icon.svg', 'demo/icon.svg'],
  // Shows the notification of a test message in this browser.
  ['/service-worker.js', 'service-worker.js'],
] as const;

/** They hold nothing of this installation, and are there for the page that asks for the token, too. */
export function addFiles(app: FastifyInstance): void {
  for (const [path, file] of files) {
    const readRepresentation = readOnce(clientFile(file));
    app.get(path, { config: { isOpen: true } }, async (request, reply) =>
      sendRepresentation(request, reply, await readRepresentation()),
    );
  }
}
