// GET /vapidKey: the public key, as browsers take it for `applicationServerKey`.
import { type ServiceApp, Type } from '../../http/schema.ts';

import { represent, type Representation, sendRepresentation } from '../../http/client-files.ts';
import { contentResponse, emptyResponse, type Operation } from '../../http/description/operation.ts';
import { jsonContentType } from '../../http/json-body.ts';
import type { ReadVapidKeys } from './current-keys.ts';

export function addVapidKeyRoute(app: ServiceApp, readVapidKeys: ReadVapidKeys, exampleKey: string): void {
  const operation: Operation = {
    operationId: 'getVapidKey',
    tag: 'Web Push',
    summary: 'The key that browsers subscribe with',
    description: 'Ask again before each use: a stale key loses subscribers.',
    responses: {
      200: contentResponse(
        'application/json',
        'The uncompressed P-256 point as unpadded base64url.',
        Type.String({ pattern: '^[A-Za-z0-9_-]{87}$' }),
        exampleKey,
        { ETag: { schema: { type: 'string' } } },
      ),
      304: emptyResponse('The key is the one named in If-None-Match.', {
        ETag: { schema: { type: 'string' } },
      }),
    },
    errors: ['ERR_STORE_UNAVAILABLE'],
  };
  let representation: (Representation & { readonly key: string }) | undefined;
  app.get('/vapidKey', { config: { operation } }, async (request, reply) => {
    const { vapidPublicKey } = await readVapidKeys();
    if (representation?.key !== vapidPublicKey) {
      representation = {
        key: vapidPublicKey,
        ...represent(JSON.stringify(vapidPublicKey), jsonContentType),
      };
    }
    return sendRepresentation(request, reply, representation);
  });
}
