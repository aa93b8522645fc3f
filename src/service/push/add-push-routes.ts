import rateLimit from '@fastify/rate-limit';
import { clientOf } from '../../http/client-address.ts';
import type { ServiceApp } from '../../http/schema.ts';
import type { Settings } from '../options.ts';
import { addChannelsRoute } from './channels.ts';
import { addClientFiles } from './client-files.ts';
import { createClientLimits } from './client-limits.ts';
import { createReadVapidKeys } from './current-keys.ts';
import { addPreferencesPage } from './preferences-page.ts';
import { addReceiptRoute } from './receipts.ts';
import { addVapidKeyRoute } from './vapid-key.ts';
import { addWebPushRoutes } from './web-push.ts';

export const pushSecuritySchemes = {
  subscriberToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Says whose the subscription is: `sub`, `tags`, `aud`, and `exp` within an hour.',
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
    addPreferencesPage(app);
  }
  addClientFiles(app);
}
