// /v1/subscriptions: lists, shows, assigns and removes subscriptions, never showing endpoints or keys.
import { Optional, type ServiceApp, Type } from '../../http/schema.ts';
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
import { addList, addOperations, addRoute } from './operations.ts';

const tagList = (description: string) =>
  Optional.String({ description: `${description} Separate several tags with commas.`, format: 'tags' });

const listQuery = {
  user: Optional.String({ ...userKeywords, description: 'Only subscriptions of this person.' }),
  tag: tagList('Only subscriptions with all of these tags.'),
  anyTag: tagList('Only subscriptions with at least one of these tags.'),
  notTag: tagList('Only subscriptions with none of these tags.'),
  pushService: Optional.String({
    description:
      'Only subscriptions at the push service with this origin, such as https://fcm.googleapis.com. https://notify.windows.com stands for all hosts of the Windows push service.',
  }),
};

export function addSubscriptionRoutes(app: ServiceApp, parts: OperatorContext): void {
  const { store } = parts;
  const { attempts, losses, subscriptions } = store;

  addList(app, 'Subscriptions', '/v1/subscriptions', {
    operationId: 'listSubscriptions',
    summary: 'Lists subscriptions, oldest first',
    description:
      'If you give a push service and tags, a page may have fewer items than `limit` and still have a next page.',
    query: listQuery,
    view: subscriptionView,
    read: ({ query: { user, tag, anyTag, notTag, pushService } }, { limit, cursor }) => {
      const tags = { all: splitTags(tag), any: splitTags(anyTag), none: splitTags(notTag) };
      const isFiltered = [user, tag, anyTag, notTag].some((part) => part !== undefined);
      const matching = isFiltered ? checkExpression({ user, tags }) : undefined;
      return findSubscriptions(store, { matching, pushService }, { afterId: cursor, limit });
    },
  });

  addRoute(app, 'Subscriptions', 'GET /v1/subscriptions/:id', {
    operationId: 'getSubscription',
    summary: 'Returns one subscription',
    params: idParams,
    answer: subscriptionView.schema,
    errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
    handle: async ({ params: { id } }) =>
      subscriptionView.toJson(requireSubscription(await subscriptions.findById(id), id)),
  });

  addList(app, 'Subscriptions', '/v1/subscriptions/:id/attempts', {
    operationId: 'listSubscriptionAttempts',
    summary: 'Lists the attempts of broadcasts to a subscription, newest first',
    description:
      'The request searches up to a hundred broadcasts. For earlier broadcasts, list the attempts of each broadcast.',
    params: idParams,
    view: attemptView,
    read: ({ params: { id } }, { limit, cursor }) =>
      readPage(limit, (count) => attempts.list({ subscriptionId: id, beforeId: cursor, limit: count })),
  });

  addList(app, 'Subscriptions', '/v1/losses', {
    operationId: 'listLosses',
    summary: 'Lists subscriptions that were lost, newest first',
    description:
      'The list contains the subscriptions lost in the last 90 days. For each subscription, it gives the reason, and says who removed it.',
    query: {
      reason: Type.Optional(lossReasonSchema),
      pushService: Optional.String({
        format: 'plain-text',
        description: 'Only subscriptions at the push service with this origin.',
      }),
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
