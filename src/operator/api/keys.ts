// GET /v1/keys: the public halves of the VAPID key pairs.
import { type ServiceApp, Type } from '../../http/schema.ts';
import type { StoredVapidKey } from '../../store/vapid-keys.ts';
import type { View } from '../../operations/view.ts';
import type { OperatorContext } from '../context.ts';
import { operationsOf } from './operations.ts';

const keyView: View<StoredVapidKey> = {
  schema: Type.Model(
    'VapidKey',
    Type.Object({
      publicKey: Type.String({ pattern: '^[A-Za-z0-9_-]{87}$' }),
      state: Type.String({
        enum: ['next', 'current', 'previous', 'retired'],
        description:
          'Services offer the current one; those before it still sign for the subscriptions that were made with them.',
      }),
    }),
  ),
  example: {
    publicKey: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    state: 'current',
  },
  toJson: (key) => key,
};

export function addKeyRoutes(app: ServiceApp, { store }: OperatorContext): void {
  const operations = operationsOf(app, 'Installation');

  operations.addNamedList('/v1/keys', {
    operationId: 'listKeys',
    summary: 'The public VAPID keys',
    view: keyView,
    nameOf: ({ publicKey }) => publicKey,
    read: async () => (await store.vapidKeys.list()).filter(({ state }) => state !== undefined),
  });
}
