// GET /: a page that subscribes a browser and shows what it receives.
import { escapeHtml } from '../../http/description/html.ts';
import { readClientFile, readStyle } from '../../http/client-assets.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { serveFile } from '../../http/description/served-file.ts';
import type { ServiceOptions } from '../options.ts';

const files = [
  ['/client/demo/demo.js', 'demo/demo.js', 'text/javascript; charset=utf-8', 'Script of the demo page'],
  ['/client/demo/demo.css', 'demo/demo.css', 'text/css; charset=utf-8', 'Style of the demo page'],
  ['/client/demo/icon.svg', 'demo/icon.svg', 'image/svg+xml', 'Icon of the demo page'],
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Part of the page, for whoever can use a shell on the server. */
const howToSend = /<!-- send -->.*<!-- \/send -->/s;

/** With `pushOnly` it is the page that links of invitations open: how to send is left out. */
export function addDemoPage(
  app: ServiceApp,
  {
    pushOnly = false,
    sendCommand = 'deskbell send --subject mailto:you@example.org',
  }: Pick<ServiceOptions, 'pushOnly' | 'sendCommand'>,
): void {
  const fillIn = (page: string): string =>
    pushOnly ? page.replace(howToSend, '') : page.replace('{{sendCommand}}', () => escapeHtml(sendCommand));
  serveFile(app, '/', {
    tag: pushOnly ? 'Files' : 'Demonstration',
    summary: pushOnly ? 'The page that subscribes a browser' : 'The demo page',
    contentType: 'text/html; charset=utf-8',
    contentSecurityPolicy,
    read: async () => fillIn(await readClientFile('demo/index.html')),
    // All addresses in the page are relative to its folder.
    otherSpelling: app.prefix === '' ? undefined : { path: '', location: `${app.prefix}/` },
  });
  for (const [path, file, contentType, summary] of files) {
    const read = () => (file.endsWith('.css') ? readStyle(file) : readClientFile(file));
    serveFile(app, path, { tag: 'Files', summary, contentType, contentSecurityPolicy, read });
  }
}
