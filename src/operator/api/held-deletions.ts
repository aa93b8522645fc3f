// /v1/held-deletions: deletions that wait for an operator's decision.
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { requireHeldDeletions } from '../../store/held-deletions.ts';
import { heldDeletionView } from '../../operations/held-deletion.ts';
import type { OperatorContext } from '../context.ts';
import { operationsOf } from './operations.ts';

const params = {
  origin: Type.String({
    description: 'Of the push service, percent-encoded: https%3A%2F%2Ffcm.googleapis.com',
  }),
};

const decidedSchema = Type.Model(
  'DecidedDeletions',
  Type.Object({ origin: Type.String(), subscriptions: Type.Integer() }),
);

export function addHeldDeletionRoutes(app: ServiceApp, { store: { heldDeletions } }: OperatorContext): void {
  const operations = operationsOf(app, 'Push services');

  operations.addNamedList('/v1/held-deletions', {
    operationId: 'listHeldDeletions',
    summary: 'Push services with deletions that wait for a decision',
    description:
      'Subscriptions that a push service called gone while it accepted almost nothing are not deleted by themselves.',
    view: heldDeletionView,
    nameOf: ({ origin }) => origin,
    read: () => heldDeletions.list(),
  });

  const decide = (name: 'confirm' | 'discard', summary: string): void =>
    operations.add(`POST /v1/held-deletions/:origin/${name}`, {
      operationId: `${name}HeldDeletions`,
      summary,
      params,
      answer: {
        schema: decidedSchema,
        example: { origin: 'https://fcm.googleapis.com', subscriptions: 5120 },
      },
      errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
      audit: {
        action: `held-deletions.${name}`,
        target: (request) => `push service ${request.params.origin}`,
      },
      handle: async ({ params: { origin } }) => ({
        origin,
        subscriptions: requireHeldDeletions(await heldDeletions[name](origin), origin),
      }),
    });
  decide('confirm', 'Deletes the held subscriptions of a push service');
  decide('discard', 'Keeps the held subscriptions of a push service');
}
