// The routes that Web Push needs: the public key, the subscriptions, the client's files and the preferences page.
import rateLimit from '@fastify/rate-limit';
import { clientOf } from '../../http/client-address.ts';
import { clientFile } from '../../http/client-files.ts';
import { serveFile, serveFiles } from '../../http/description/served-file.ts';
import type { ServiceApp } from '../../http/schema.ts';
import type { Settings } from '../options.ts';
import { addChannelsRoute } from './channels.ts';
import { createClientLimits } from '../../http/client-limits.ts';
import { addReceiptRoute } from './receipts.ts';
import { addVapidKeyRoute, createReadVapidKeys } from './vapid-key.ts';
import { addWebPushRoutes } from './web-push.ts';

export const pushSecuritySchemes = {
  subscriberToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'Says who owns the subscription. Its claims are `sub`, `tags`, `aud`, and `exp` within an hour.',
  },
} as const;

export async function addPushRoutes(app: ServiceApp, settings: Settings): Promise<void> {
  const readVapidKeys = createReadVapidKeys(settings.store, settings);
  addVapidKeyRoute(app, readVapidKeys, settings.vapidPublicKey);
  await app.register(rateLimit, {
    global: false,
    keyGenerator: clientOf,
    store: createClientLimits(settings.store.clientRequests),
  });
  addWebPushRoutes(app, settings, readVapidKeys);
  addReceiptRoute(app, settings);
  if (settings.channels) {
    addChannelsRoute(app, settings);
    addPreferencesPage(app, settings);
  }
  addClientFiles(app);
}

/** Each entry: URL path, file in the client's folder, operation, summary. The service worker's path sets its scope. */
const clientFiles = [
  ['/client/index.js', 'index.js', 'getPageLibrary', 'The page library'],
  ['/client/subscribe.js', 'subscribe.js', 'getSubscribeElement', 'The element `<deskbell-subscribe>`'],
  [
    '/client/subscribe/languages.js',
    'subscribe/languages.js',
    'getSubscribeElementLanguages',
    'The texts of that element in languages other than English',
  ],
  ['/service-worker.js', 'service-worker.js', 'getServiceWorker', 'The service worker'],
] as const;

function addClientFiles(app: ServiceApp): void {
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

const pageFiles = [
  ['/client/preferences/preferences.js', 'preferences/preferences.js', 'getPreferencesScript'],
  ['/client/preferences/preferences.css', 'preferences/preferences.css', 'getPreferencesStyle'],
] as const;

const contentSecurityPolicy =
  "default-src 'self'; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types deskbell";

function addPreferencesPage(app: ServiceApp, { registrations = 'open' }: Settings): void {
  const tag = 'Files';
  const { contentType, read } = clientFile('preferences/index.html');
  serveFile(app, '/preferences', {
    contentType,
    read: async () => String(await read()).replace('{{registrations}}', registrations),
    operationId: 'getPreferencesPage',
    tag,
    summary: 'The page on which a reader chooses channels',
    contentSecurityPolicy,
    otherSpelling: { path: '/preferences/', location: '../preferences' },
  });
  serveFiles(app, pageFiles, { tag, summary: 'A file of that page', contentSecurityPolicy });
}
