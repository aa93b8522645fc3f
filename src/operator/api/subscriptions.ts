// /v1/subscriptions: lists, shows, assigns and removes subscriptions, never showing endpoints or keys.
import { type ServiceApp, Type } from '../../http/schema.ts';
import { checkExpression } from '../../audience/user-and-tags.ts';
import { requireSubscription } from '../../store/subscriptions.ts';
import { attemptView } from '../../operations/outcomes.ts';
import { userKeywords } from '../../operations/audience.ts';
import { listLosses, lossReasonSchema, lossView } from '../../operations/losses.ts';
import { idParams } from '../../operations/operation.ts';
import { removePerson } from '../../operations/people.ts';
import { removeSubscription, subscriptionView, updateSubscription } from '../../operations/subscriptions.ts';
import type { OperatorContext } from '../context.ts';
import { findSubscriptions, readPage } from '../searches.ts';
import { splitTags } from '../validator.ts';
import { addOperations, operationsOf } from './operations.ts';

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
    Type.String({
      description:
        'Of this push service: an origin, such as https://fcm.googleapis.com, or https://notify.windows.com for all hosts of Windows’.',
    }),
  ),
};

export function addSubscriptionRoutes(app: ServiceApp, parts: OperatorContext): void {
  const operations = operationsOf(app, 'Subscriptions');

  const { store } = parts;
  const { attempts, losses, subscriptions } = store;

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
      return findSubscriptions(store, { matching, pushService }, { afterId: cursor, limit });
    },
  });

  operations.add('GET /v1/subscriptions/:id', {
    operationId: 'getSubscription',
    summary: 'One subscription',
    params: idParams,
    answer: subscriptionView,
    errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
    handle: async ({ params: { id } }) =>
      subscriptionView.toJson(requireSubscription(await subscriptions.findById(id), id)),
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

  operations.addList('/v1/losses', {
    operationId: 'listLosses',
    summary: 'Subscriptions that were lost, newest first',
    description: 'Why, and who removed them. Of the last 90 days.',
    query: {
      reason: Type.Optional(lossReasonSchema),
      pushService: Type.Optional(
        Type.String({ format: 'plain-text', description: 'Of this one: an origin.' }),
      ),
    },
    view: lossView,
    read: ({ query: { reason, pushService: origin } }, { limit, cursor }) =>
      readPage(limit, (count) =>
        losses.list({
          reason,
          origins: origin === undefined ? undefined : [origin],
          beforeId: cursor,
          limit: count,
        }),
      ),
  });

  addOperations(app, parts, [listLosses, updateSubscription, removeSubscription, removePerson]);
}
