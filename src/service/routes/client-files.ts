// The browser's side, served from `src/client/` or, once built, `dist/client/`: the demo page, the page library and
// the service worker. Sources are stripped of their types when they are first asked for.
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';

import { represent, sendRepresentation, type Representation } from '../conditional.ts';
import type { ServiceApp } from '../create-service.ts';

const script = 'text/javascript; charset=utf-8';

/** URL paths, the file of each in the client's folder, and its type. A service worker's path is its scope. */
const files = [
  { path: '/', file: 'demo/index.html', type: 'text/html; charset=utf-8' },
  { path: '/client/demo/demo.js', file: 'demo/demo.js', type: script },
  { path: '/client/demo/demo.css', file: 'demo/demo.css', type: 'text/css; charset=utf-8' },
  { path: '/client/demo/icon.svg', file: 'demo/icon.svg', type: 'image/svg+xml' },
  { path: '/client/index.js', file: 'index.js', type: script },
  { path: '/service-worker.js', file: 'service-worker.js', type: script },
] as const;

const clientFolder = new URL('../../client/', import.meta.url);
const isRunFromSource = import.meta.url.endsWith('.ts');

export function addClientFiles(app: ServiceApp): void {
  for (const { path, file, type } of files) {
    let representation: Promise<Representation> | undefined;
    app.get(path, { prefixTrailingSlash: 'slash' }, async (request, reply) => {
      representation ??= read(file).then((body) => represent(body, type));
      reply
        .header('content-security-policy', contentSecurityPolicy)
        .header('x-content-type-options', 'nosniff');
      return sendRepresentation(request, reply, await representation);
    });
  }
  // All addresses in the page are relative to its folder.
  if (app.prefix !== '') {
    app.get('', (_request, reply) => reply.redirect(`${app.prefix}/`, 308));
  }
}

const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async function read(file: string): Promise<string> {
  if (!isRunFromSource || !file.endsWith('.js')) return readFile(new URL(file, clientFolder), 'utf8');
  const source = await readFile(new URL(file.replace(/\.js$/, '.ts'), clientFolder), 'utf8');
  const code = stripTypeScriptTypes(source);
  // What the compiler does to `./x.ts` in an import when it builds.
  return code.replaceAll(/(\b(?:from|import)\s*\(?\s*['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2');
}
