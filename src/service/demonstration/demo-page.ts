// GET /: a page that subscribes the browser and shows the messages that the browser receives.
import { escapeHtml } from '../../http/description/html.ts';
import { readClientFile } from '../../http/client-files.ts';
import type { ServiceApp } from '../../http/schema.ts';
import { serveFile, serveFiles } from '../../http/description/served-file.ts';
import type { ServiceOptions } from '../options.ts';

const files = [
  ['/client/demo/demo.js', 'demo/demo.js', 'getDemoScript'],
  ['/client/demo/demo.css', 'demo/demo.css', 'getDemoStyle'],
  ['/client/demo/icon.svg', 'demo/icon.svg', 'getDemoIcon'],
  ['/client/demo/icon.png', 'demo/icon.png', 'getDemoImage'],
  ['/manifest.webmanifest', 'demo/manifest.webmanifest', 'getDemoManifest'],
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types deskbell";

const howToSend = /<!-- send -->.*<!-- \/send -->/s;

const linkToChannels = /<!-- channels -->.*<!-- \/channels -->/s;

/** With `pushOnly`, the page is for invitation links and does not show how to send. */
export function addDemoPage(
  app: ServiceApp,
  {
    pushOnly = false,
    sendCommand = 'deskbell send --subject mailto:you@example.org',
    registrations = 'open',
    channels = false,
  }: Pick<ServiceOptions, 'pushOnly' | 'sendCommand' | 'registrations' | 'channels'>,
): void {
  const fillIn = (template: string): string => {
    const whole = template.replace('{{registrations}}', registrations);
    const withChannels = whole.replace('{{channels}}', channels ? 'channels' : '');
    const page = channels ? withChannels : withChannels.replace(linkToChannels, '');
    return pushOnly
      ? page.replace(howToSend, '')
      : page.replace('{{sendCommand}}', () => escapeHtml(sendCommand));
  };
  serveFile(app, '/', {
    operationId: 'getDemoPage',
    tag: pushOnly ? 'Files' : 'Demonstration',
    summary: pushOnly ? 'The page that subscribes a browser' : 'The demo page',
    contentType: 'text/html; charset=utf-8',
    contentSecurityPolicy,
    read: async () => fillIn(await readClientFile('demo/index.html')),
    otherSpelling: app.prefix === '' ? undefined : { path: '', location: `${app.prefix}/` },
  });
  serveFiles(app, files, { tag: 'Files', summary: 'A file of the demo page', contentSecurityPolicy });
  serveFile(app, '/invitation.webmanifest', {
    operationId: 'getInvitationManifest',
    tag: 'Files',
    summary: 'Manifest of the demo page when the link of an invitation has opened it',
    contentType: 'application/manifest+json',
    contentSecurityPolicy,
    read: readInvitationManifest,
  });
}

/** Without a start URL, the app starts at the page's own URL, whose fragment has the invitation's token. */
async function readInvitationManifest(): Promise<string> {
  const { start_url: _, ...manifest } = JSON.parse(
    await readClientFile('demo/manifest.webmanifest'),
  ) as Record<string, unknown>;
  return JSON.stringify(manifest);
}
