// GET /preferences: the page on which a reader chooses channels.
import { clientFile } from '../../http/client-files.ts';
import { serveFile, serveFiles } from '../../http/description/served-file.ts';
import type { ServiceApp } from '../../http/schema.ts';

const pageFiles = [
  ['/client/preferences/preferences.js', 'preferences/preferences.js', 'getPreferencesScript'],
  ['/client/preferences/preferences.css', 'preferences/preferences.css', 'getPreferencesStyle'],
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types deskbell";

export function addPreferencesPage(app: ServiceApp): void {
  const tag = 'Files';
  serveFile(app, '/preferences', {
    ...clientFile('preferences/index.html'),
    operationId: 'getPreferencesPage',
    tag,
    summary: 'The page on which a reader chooses channels',
    contentSecurityPolicy,
    otherSpelling: { path: '/preferences/', location: '../preferences' },
  });
  serveFiles(app, pageFiles, { tag, summary: 'A file of that page', contentSecurityPolicy });
}
