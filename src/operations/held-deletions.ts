// Held deletions: subscriptions that a push service called gone, kept until an operator decides.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import { requireHeldDeletions, type HeldOrigin } from '../store/held-deletions.ts';
import { type NamedList, operation, type View } from './operation.ts';

const heldDeletionView: View<HeldOrigin> = {
  schema: Type.Named('HeldDeletions', {
    origin: Type.String(),
    subscriptions: Type.Integer(),
    since: Type.Time(),
  }),
  toJson: ({ sinceMs, ...held }) => ({ ...held, since: isoTime(sinceMs) }),
};

const params = {
  origin: Type.String({
    format: 'plain-text',
    description: 'Origin of the push service, percent-encoded, such as https%3A%2F%2Ffcm.googleapis.com',
  }),
};

const decidedView: View<Omit<HeldOrigin, 'sinceMs'>> = {
  schema: Type.Named('DecidedDeletions', { origin: Type.String(), subscriptions: Type.Integer() }),
  toJson: (decided) => decided,
};

export const listHeldDeletions: NamedList<HeldOrigin> = {
  path: '/v1/held-deletions',
  tag: 'Push services',
  operationId: 'listHeldDeletions',
  summary: 'Lists push services with deletions that wait for a decision',
  description:
    'If a push service reports subscriptions as gone while it accepts almost no messages, Deskbell does not delete these subscriptions automatically.',
  view: heldDeletionView,
  nameOf: ({ origin }) => origin,
  read: ({ store }) => store.heldDeletions.list(),
};

const decide = (name: 'confirm' | 'discard', summary: string) =>
  operation({
    route: `POST /v1/held-deletions/:origin/${name}`,
    tag: 'Push services',
    operationId: `${name}HeldDeletions`,
    summary,
    params,
    answer: decidedView,
    errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
    action: `held-deletions.${name}`,
    target: ({ origin }) => `push service ${origin}`,
    run: async ({ store }, { origin }) => ({
      origin,
      subscriptions: requireHeldDeletions(await store.heldDeletions[name](origin), origin),
    }),
  });

export const decisions = {
  confirm: decide('confirm', 'Deletes the held subscriptions of a push service'),
  discard: decide('discard', 'Discards the held deletions of a push service, and keeps the subscriptions'),
};
