// /v1/held-deletions: deletions that wait for an operator's decision.
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import type { OperatorContext } from '../context.ts';
import { describeOperation } from './describe-operation.ts';
import { cutPage, namedPageQuery, pageOf } from './page.ts';

const held = Type.Object({
  origin: Type.String(),
  subscriptions: Type.Integer(),
  since: Type.String({ format: 'date-time' }),
});

const params = Type.Object({
  origin: Type.String({
    description: 'Of the push service, percent-encoded: https%3A%2F%2Ffcm.googleapis.com',
  }),
});

export function addHeldDeletionRoutes(app: ServiceApp, { store: { heldDeletions } }: OperatorContext): void {
  app.get(
    '/v1/held-deletions',
    {
      schema: { querystring: Type.Object(namedPageQuery, { additionalProperties: false }) },
      config: {
        operation: describeOperation({
          tag: 'Push services',
          summary: 'Push services with deletions that wait for a decision',
          description:
            'Subscriptions that a push service called gone while it accepted almost nothing are not deleted by themselves.',
          schema: pageOf(held, 'string'),
          example: {
            items: [
              {
                origin: 'https://fcm.googleapis.com',
                subscriptions: 5120,
                since: '2027-01-01T09:00:00.000Z',
              },
            ],
            next: null,
          },
        }),
      },
    },
    async ({ query }, reply) => {
      const { items, next } = cutPage(await heldDeletions.list(), ({ origin }) => origin, query);
      return sendJson(reply, {
        items: items.map(({ sinceMs, ...rest }) => ({ ...rest, since: isoTime(sinceMs) })),
        next,
      });
    },
  );

  const decide = (name: 'confirm' | 'discard', summary: string): void => {
    app.post(
      `/v1/held-deletions/:origin/${name}`,
      {
        schema: { params },
        config: {
          operation: describeOperation({
            tag: 'Push services',
            summary,
            schema: Type.Object({ origin: Type.String(), subscriptions: Type.Integer() }),
            example: { origin: 'https://fcm.googleapis.com', subscriptions: 5120 },
            errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
          }),
          audit: {
            action: `held-deletions.${name}`,
            target: (request) => `push service ${(request.params as { readonly origin: string }).origin}`,
          },
        },
      },
      async ({ params: { origin } }, reply) => {
        const subscriptions = await heldDeletions[name](origin);
        if (subscriptions > 0) return sendJson(reply, { origin, subscriptions });
        throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'No deletions are held for this push service.');
      },
    );
  };
  decide('confirm', 'Deletes the held subscriptions of a push service');
  decide('discard', 'Keeps the held subscriptions of a push service');
}
