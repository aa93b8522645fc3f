// How subscriptions are shown (without endpoint and keys), and how they are changed.
import { checkUserAndTags } from '../audience/user-and-tags.ts';
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Optional, Type } from '../http/schema.ts';
import { requireSubscription, type StoredSubscription } from '../store/subscriptions.ts';
import { tagsSchema, userKeywords } from './audience.ts';
import { type Change, idParams, operation, type View } from './operation.ts';
import { choicesSchema } from './people.ts';

export const subscriptionView: View<StoredSubscription> = {
  schema: Type.Named('Subscription', {
    id: Type.Integer(),
    pushService: Type.String({ description: 'Origin of the endpoint.' }),
    vapidPublicKey: Type.String(),
    user: Optional.String({
      description: 'The user of the subscription. Absent if the subscription is anonymous.',
    }),
    tags: Type.Array(Type.String()),
    language: Optional.String({ description: 'The language that the browser sent.' }),
    timeZone: Optional.String({ description: 'The time zone that the browser sent.' }),
    channels: choicesSchema('Choices that were made in this browser. Choices of the user take precedence.'),
    createdAt: Type.Time(),
    updatedAt: Type.Time(),
  }),
  toJson: ({ id, endpoint, vapidPublicKey, createdAtMs, updatedAtMs, ...row }) => ({
    id,
    pushService: new URL(endpoint).origin,
    vapidPublicKey,
    user: row.user,
    tags: row.tags,
    language: row.language,
    timeZone: row.timeZone,
    channels: row.channels,
    createdAt: isoTime(createdAtMs),
    updatedAt: isoTime(updatedAtMs),
  }),
};

const target = ({ id }: { readonly id: number }): string => `subscription ${id}`;

export const updateSubscription = operation({
  route: 'PATCH /v1/subscriptions/:id',
  tag: 'Subscriptions',
  operationId: 'updateSubscription',
  summary: 'Sets user and tags of a subscription',
  params: idParams,
  body: Type.Named(
    'SubscriptionUpdate',
    {
      user: Optional.Unsafe<string | null>({
        ...userKeywords,
        type: ['string', 'null'],
        description: 'The new user. null makes the subscription anonymous.',
      }),
      tags: Type.Optional(tagsSchema(0, 'Replaces all tags.')),
    },
    {
      additionalProperties: false,
      minProperties: 1,
      description: 'Fields that you leave out do not change.',
      examples: [{ user: '42', tags: ['news', 'beta'] }],
    },
  ),
  answer: subscriptionView,
  errors: ['ERR_SUBSCRIPTION_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
  action: 'subscription.assign',
  target,
  run: async ({ store: { people, subscriptions } }, { id, user: asked, tags: given }) => {
    const { user, tags } = checkUserAndTags({ user: asked ?? undefined, tags: given });
    const change = { user: asked === null ? null : user, tags: given && tags };
    if (!(await people.assign(id, change))) requireSubscription(undefined, id);
    return requireSubscription(await subscriptions.findById(id), id);
  },
});

export const removeSubscription = operation({
  route: 'DELETE /v1/subscriptions/:id',
  tag: 'Subscriptions',
  operationId: 'removeSubscription',
  summary: 'Removes a subscription',
  description: 'The browser registers again when somebody next opens the page.',
  params: idParams,
  errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
  action: 'subscription.remove',
  target,
  run: async ({ store }, { id }, operator) => {
    if (!(await store.subscriptions.removeById(id, operator))) requireSubscription(undefined, id);
  },
});

const pageRows = 500;

/** Removes a push service's subscriptions, and its entry if it is unlisted. Returns the number of subscriptions. */
export const removePushService: Change<{ readonly origin: string }, number> = {
  action: 'push-service.remove',
  target: ({ origin }) => `push service ${origin}`,
  run: async ({ store: { subscriptions, unlisted } }, { origin }, operator) => {
    let removed = 0;
    for (;;) {
      const rows = await subscriptions.pageOfPushService(origin, { afterId: 0, limit: pageRows });
      // SQLite commits all removals of one turn of the event loop in a single transaction
      const found = await Promise.all(rows.map(({ id }) => subscriptions.removeById(id, operator)));
      removed += found.filter(Boolean).length;
      if (rows.length < pageRows) break;
    }
    await unlisted.remove(origin);
    return removed;
  },
};
