// The part of the service that Web Push needs: the public key, the subscriptions and the client's files.
import type { ServiceApp } from '../http/service-app.ts';
import type { Settings } from '../options.ts';
import { addClientFiles } from './client-files.ts';
import { addVapidKeyRoute } from './vapid-key.ts';
import { addWebPushRoutes } from './web-push.ts';

export async function addPushRoutes(app: ServiceApp, settings: Settings): Promise<void> {
  addVapidKeyRoute(app, settings.vapidPublicKey);
  await addWebPushRoutes(app, settings);
  addClientFiles(app);
}
