// /v1/held-deletions: deletions that wait for an operator's decision.
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { requireHeldDeletions } from '../../store/held-deletions.ts';
import { heldDeletionView } from '../../views/held-deletion.ts';
import type { OperatorContext } from '../context.ts';
import { addNamedList, addOperation } from './add-operation.ts';

const params = {
  origin: Type.String({
    description: 'Of the push service, percent-encoded: https%3A%2F%2Ffcm.googleapis.com',
  }),
};

export function addHeldDeletionRoutes(app: ServiceApp, { store: { heldDeletions } }: OperatorContext): void {
  addNamedList(
    app,
    '/v1/held-deletions',
    {
      tag: 'Push services',
      summary: 'Push services with deletions that wait for a decision',
      description:
        'Subscriptions that a push service called gone while it accepted almost nothing are not deleted by themselves.',
      view: heldDeletionView,
    },
    ({ origin }) => origin,
    () => heldDeletions.list(),
  );

  const decide = (name: 'confirm' | 'discard', summary: string): void =>
    addOperation(
      app,
      `POST /v1/held-deletions/:origin/${name}`,
      {
        tag: 'Push services',
        summary,
        params,
        answer: {
          schema: Type.Object({ origin: Type.String(), subscriptions: Type.Integer() }),
          example: { origin: 'https://fcm.googleapis.com', subscriptions: 5120 },
        },
        errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
        audit: {
          action: `held-deletions.${name}`,
          target: (request) => `push service ${request.params.origin}`,
        },
      },
      async ({ params: { origin } }) => ({
        origin,
        subscriptions: requireHeldDeletions(await heldDeletions[name](origin), origin),
      }),
    );
  decide('confirm', 'Deletes the held subscriptions of a push service');
  decide('discard', 'Keeps the held subscriptions of a push service');
}
