// GET /preferences: the page on which a reader chooses channels.
import { readClientFile, readStyle } from '../../http/client-assets.ts';
import { serveFile } from '../../http/description/served-file.ts';
import type { ServiceApp } from '../../http/service-app.ts';

const folder = 'preferences/';

const files = [
  {
    path: '/preferences',
    operationId: 'getPreferencesPage',
    contentType: 'text/html; charset=utf-8',
    read: () => readClientFile(`${folder}index.html`),
    // All addresses in the page are relative to the folder above.
    otherSpelling: { path: '/preferences/', location: '../preferences' },
  },
  {
    path: '/client/preferences/preferences.js',
    operationId: 'getPreferencesScript',
    contentType: 'text/javascript; charset=utf-8',
    read: () => readClientFile(`${folder}preferences.js`),
  },
  {
    path: '/client/preferences/preferences.css',
    operationId: 'getPreferencesStyle',
    contentType: 'text/css; charset=utf-8',
    read: () => readStyle(`${folder}preferences.css`),
  },
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types deskbell";

export function addPreferencesPage(app: ServiceApp): void {
  for (const { path, ...file } of files) {
    const summary =
      path === '/preferences' ? 'The page on which a reader chooses channels' : 'A file of that page';
    serveFile(app, path, { ...file, tag: 'Files', summary, contentSecurityPolicy });
  }
}
