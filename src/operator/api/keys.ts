// GET /v1/keys: the public halves of the VAPID key pairs.
import { sendJson } from '../../http/json-text.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import type { OperatorContext } from '../context.ts';
import { describeOperation } from './describe-operation.ts';
import { cutPage, namedPageQuery, pageOf } from './page.ts';

const key = Type.Object({
  publicKey: Type.String({ pattern: '^[A-Za-z0-9_-]{87}$' }),
  state: Type.String({
    enum: ['next', 'current', 'previous', 'retired'],
    description:
      'Services offer the current one; those before it still sign for the subscriptions that were made with them.',
  }),
});

const operation = describeOperation({
  tag: 'Installation',
  summary: 'The public VAPID keys',
  schema: pageOf(key, 'string'),
  example: {
    items: [
      {
        publicKey: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
        state: 'current',
      },
    ],
    next: null,
  },
});

export function addKeyRoutes(app: ServiceApp, { store }: OperatorContext): void {
  const querystring = Type.Object(namedPageQuery, { additionalProperties: false });
  app.get('/v1/keys', { schema: { querystring }, config: { operation } }, async ({ query }, reply) => {
    const ours = (await store.vapidKeys.list()).filter(({ state }) => state !== undefined);
    return sendJson(
      reply,
      cutPage(ours, ({ publicKey }) => publicKey, query),
    );
  });
}
