// /v1/subscriptions: lists, shows, assigns and removes subscriptions. Endpoints and keys are never shown.
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { checkExpression, checkUserAndTags } from '../../audience/user-and-tags.ts';
import { requireSubscription } from '../../store/subscriptions.ts';
import { attemptView } from '../../operations/attempt.ts';
import { tagsSchema, userKeywords } from '../../operations/audience.ts';
import { subscriptionView } from '../../operations/subscription.ts';
import type { OperatorContext } from '../context.ts';
import { findSubscriptions } from '../find-subscriptions.ts';
import { readPage } from '../list-page.ts';
import { splitTags } from '../validator.ts';
import { idParams, operationsOf } from './operations.ts';

const tagList = (description: string) =>
  Type.Optional(
    Type.String({ description: `${description} Several are separated by commas.`, format: 'tags' }),
  );

const listQuery = {
  user: Type.Optional(Type.String({ ...userKeywords, description: 'Of this person.' })),
  tag: tagList('With all of these tags.'),
  anyTag: tagList('With one of these tags at least.'),
  notTag: tagList('With none of these tags.'),
  pushService: Type.Optional(
    Type.String({ description: 'Of this push service: an origin, such as https://fcm.googleapis.com.' }),
  ),
};

const assignBody = Type.Model(
  'SubscriptionUpdate',
  Type.Object(
    {
      user: Type.Optional(
        Type.Unsafe<string | null>({
          ...userKeywords,
          type: ['string', 'null'],
          description: 'null: anonymous.',
        }),
      ),
      tags: Type.Optional(tagsSchema(0, 'Replaces all tags.')),
    },
    {
      additionalProperties: false,
      minProperties: 1,
      description: 'What is absent stays as it is.',
      examples: [{ user: '42', tags: ['news', 'beta'] }],
    },
  ),
);

const removedSchema = Type.Model(
  'RemovedPerson',
  Type.Object({
    subscriptions: Type.Integer(),
    ended: Type.Integer({ description: 'Subscriptions that had ended already.' }),
    broadcasts: Type.Integer({ description: 'Broadcasts that were for this person alone.' }),
    schedules: Type.Integer({ description: 'Schedules that were for this person alone.' }),
    recipients: Type.Integer({ description: 'Places in lists of recipients.' }),
    attempts: Type.Integer({ description: 'Of the attempt log.' }),
    receipts: Type.Integer({ description: 'What they had reported of notifications.' }),
  }),
);

export function addSubscriptionRoutes(app: ServiceApp, parts: OperatorContext): void {
  const operations = operationsOf(app, 'Subscriptions');

  const { attempts, subscriptions, people } = parts.store;
  const find = async (id: number) => requireSubscription(await subscriptions.findById(id), id);

  operations.addList('/v1/subscriptions', {
    operationId: 'listSubscriptions',
    summary: 'Subscriptions, oldest first',
    description: 'A page by push service and tags may have fewer items than asked for, and yet a next one.',
    query: listQuery,
    view: subscriptionView,
    read: ({ query: { user, tag, anyTag, notTag, pushService } }, { limit, cursor }) => {
      const tags = { all: splitTags(tag), any: splitTags(anyTag), none: splitTags(notTag) };
      const isFiltered = [user, tag, anyTag, notTag].some((part) => part !== undefined);
      const matching = isFiltered ? checkExpression({ user, tags }) : undefined;
      return findSubscriptions(subscriptions, { matching, pushService }, { afterId: cursor, limit });
    },
  });

  operations.add('GET /v1/subscriptions/:id', {
    operationId: 'getSubscription',
    summary: 'One subscription',
    params: idParams,
    answer: subscriptionView,
    errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
    handle: async ({ params: { id } }) => subscriptionView.toJson(await find(id)),
  });

  operations.addList('/v1/subscriptions/:id/attempts', {
    operationId: 'listSubscriptionAttempts',
    summary: 'What broadcasts sent to a subscription, newest first',
    description: 'Looks through up to a hundred broadcasts; those before them are asked for by broadcast.',
    params: idParams,
    view: attemptView,
    read: ({ params: { id } }, { limit, cursor }) =>
      readPage(limit, (count) => attempts.list({ subscriptionId: id, beforeId: cursor, limit: count })),
  });

  operations.add('PATCH /v1/subscriptions/:id', {
    operationId: 'updateSubscription',
    summary: 'Sets user and tags of a subscription',
    params: idParams,
    body: assignBody,
    answer: subscriptionView,
    errors: ['ERR_SUBSCRIPTION_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
    audit: { action: 'subscription.assign', target: ({ params: { id } }) => `subscription ${id}` },
    handle: async ({ params: { id }, body }) => {
      const { user, tags } = checkUserAndTags({ user: body.user ?? undefined, tags: body.tags });
      const change = { user: body.user === null ? null : user, tags: body.tags && tags };
      if (!(await people.assign(id, change))) requireSubscription(undefined, id);
      return subscriptionView.toJson(await find(id));
    },
  });

  operations.add('DELETE /v1/subscriptions/:id', {
    operationId: 'removeSubscription',
    summary: 'Removes a subscription',
    description: 'A browser registers again when its page is next opened.',
    params: idParams,
    errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
    audit: { action: 'subscription.remove', target: ({ params: { id } }) => `subscription ${id}` },
    handle: async ({ params: { id } }) => {
      if (!(await subscriptions.removeById(id))) requireSubscription(undefined, id);
    },
  });

  operations.add('DELETE /v1/subscriptions', {
    operationId: 'removePerson',
    summary: 'Removes a person',
    description:
      'Deletes all data of this user from the store. The audit keeps a keyed hash of the user; backups and logs are not ' +
      'touched.',
    query: { user: Type.String({ ...userKeywords, description: 'Whom to remove.' }) },
    answer: {
      schema: removedSchema,
      example: {
        subscriptions: 2,
        ended: 0,
        broadcasts: 0,
        schedules: 0,
        recipients: 3,
        attempts: 5,
        receipts: 4,
      },
    },
    errors: ['ERR_FIELD_VALUE'],
    audit: {
      action: 'person.remove',
      target: ({ query: { user } }) => `user ${parts.hashPerson(user)}`,
    },
    handle: ({ query: { user } }) => people.remove(user),
  });
}
