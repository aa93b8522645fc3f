// GET /vapidKey: the public half of the key pair, as browsers take it for `applicationServerKey`.
import { represent, sendRepresentation } from '../conditional.ts';
import type { ServiceApp } from '../create-service.ts';
import { jsonContentType, toJsonText } from '../json-text.ts';

export function addVapidKeyRoute(app: ServiceApp, vapidPublicKey: string): void {
  const representation = represent(toJsonText(vapidPublicKey), jsonContentType);
  app.get('/vapidKey', (request, reply) => sendRepresentation(request, reply, representation));
}
