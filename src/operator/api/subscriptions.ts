// /v1/subscriptions: lists, shows, assigns and removes subscriptions. Endpoints and keys are never shown.
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { emptyResponse } from '../../http/description/openapi-responses.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { checkExpression, checkUserAndTags } from '../../store/check-people.ts';
import type { StoredSubscription, SubscriptionStore } from '../../store/subscriptions.ts';
import type { OperatorContext } from '../context.ts';
import { findSubscriptions } from '../find-subscriptions.ts';
import { removePerson } from '../remove-person.ts';
import { attemptExample, attemptSchema, attemptToJson } from './attempt.ts';
import { idParams } from './broadcasts.ts';
import { describeOperation } from './describe-operation.ts';
import { defaultLimit, pageOf, pageQuery, readPage } from './page.ts';

const subscriptionSchema = Type.Object({
  id: Type.Integer(),
  pushService: Type.String({ description: 'Origin of its endpoint.' }),
  vapidPublicKey: Type.String(),
  user: Type.Optional(Type.String({ description: 'Absent: anonymous.' })),
  tags: Type.Array(Type.String()),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
});

const subscriptionExample = {
  id: 1,
  pushService: 'https://fcm.googleapis.com',
  vapidPublicKey: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  user: '42',
  tags: ['beta', 'news'],
  createdAt: '2027-01-01T09:00:00.000Z',
  updatedAt: '2027-01-01T09:00:00.000Z',
};

const tagList = (description: string) =>
  Type.Optional(Type.String({ description: `${description} Several are separated by commas.` }));

const listQuery = Type.Object(
  {
    ...pageQuery,
    user: Type.Optional(Type.String({ description: 'Of this person.' })),
    tag: tagList('With all of these tags.'),
    anyTag: tagList('With one of these tags at least.'),
    notTag: tagList('With none of these tags.'),
    pushService: Type.Optional(
      Type.String({ description: 'Of this push service: an origin, such as https://fcm.googleapis.com.' }),
    ),
  },
  { additionalProperties: false },
);

const assignBody = Type.Object(
  {
    user: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'null: anonymous. 1 to 128 bytes.',
      }),
    ),
    tags: Type.Optional(Type.Array(Type.String(), { maxItems: 32, description: 'Replaces all tags.' })),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'What is absent stays as it is.',
    examples: [{ user: '42', tags: ['news', 'beta'] }],
  },
);

const removePersonQuery = Type.Object(
  { user: Type.String({ description: 'Whom to remove.' }) },
  { additionalProperties: false },
);

const removedSchema = Type.Object({
  subscriptions: Type.Integer(),
  ended: Type.Integer({ description: 'Subscriptions that had ended already.' }),
  broadcasts: Type.Integer({ description: 'Broadcasts that were for this person alone.' }),
  schedules: Type.Integer({ description: 'Schedules that were for this person alone.' }),
  recipients: Type.Integer({ description: 'Places in lists of recipients.' }),
  attempts: Type.Integer({ description: 'Of the attempt log.' }),
  receipts: Type.Integer({ description: 'What they had reported of notifications.' }),
});

export function addSubscriptionRoutes(app: ServiceApp, parts: OperatorContext): void {
  const { subscriptions, people, broadcasts } = parts.store;

  app.get(
    '/v1/subscriptions',
    {
      schema: { querystring: listQuery },
      config: {
        operation: describeOperation({
          tag: 'Subscriptions',
          summary: 'Subscriptions, oldest first',
          description: 'A page by push service may have fewer items than asked for, and yet a next one.',
          schema: pageOf(subscriptionSchema),
          example: { items: [subscriptionExample], next: null },
        }),
      },
    },
    async ({ query: { limit = defaultLimit, cursor, user, tag, anyTag, notTag, pushService } }, reply) => {
      const tags = { all: split(tag), any: split(anyTag), none: split(notTag) };
      const isFiltered = [user, tag, anyTag, notTag].some((part) => part !== undefined);
      const matching = isFiltered ? checkExpression({ user, tags }) : undefined;
      const page = await findSubscriptions(
        subscriptions,
        { matching, pushService },
        { afterId: cursor, limit },
      );
      return sendJson(reply, { items: page.subscriptions.map(toJson), next: page.nextAfterId ?? null });
    },
  );

  app.get(
    '/v1/subscriptions/:id',
    {
      schema: { params: idParams },
      config: {
        operation: describeOperation({
          tag: 'Subscriptions',
          summary: 'One subscription',
          schema: subscriptionSchema,
          example: subscriptionExample,
          errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
        }),
      },
    },
    async ({ params: { id } }, reply) => sendJson(reply, toJson(await findSubscription(subscriptions, id))),
  );

  app.get(
    '/v1/subscriptions/:id/attempts',
    {
      schema: { params: idParams, querystring: Type.Object(pageQuery, { additionalProperties: false }) },
      config: {
        operation: describeOperation({
          tag: 'Subscriptions',
          summary: 'What broadcasts sent to a subscription, newest first',
          schema: pageOf(attemptSchema),
          example: { items: [attemptExample], next: null },
        }),
      },
    },
    async ({ params: { id }, query: { limit, cursor } }, reply) => {
      const { items, next } = await readPage(limit, (count) =>
        broadcasts.attempts({ subscriptionId: id, beforeId: cursor, limit: count }),
      );
      return sendJson(reply, { items: items.map(attemptToJson), next });
    },
  );

  app.patch(
    '/v1/subscriptions/:id',
    {
      schema: { params: idParams, body: assignBody },
      config: {
        operation: describeOperation({
          tag: 'Subscriptions',
          summary: 'Sets user and tags of a subscription',
          schema: subscriptionSchema,
          example: subscriptionExample,
          errors: ['ERR_SUBSCRIPTION_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
        }),
        audit: { action: 'subscription.assign', target },
      },
    },
    async ({ params: { id }, body }, reply) => {
      const row = await findSubscription(subscriptions, id);
      const user = body.user === undefined ? row.user : (body.user ?? undefined);
      const assigned = checkUserAndTags({ user, tags: body.tags ?? row.tags });
      if (!(await people.assign(id, assigned))) throw notFound(id);
      return sendJson(reply, toJson(await findSubscription(subscriptions, id)));
    },
  );

  app.delete(
    '/v1/subscriptions/:id',
    {
      schema: { params: idParams },
      config: {
        operation: {
          tag: 'Subscriptions',
          summary: 'Removes a subscription',
          description: 'A browser registers again when its page is next opened.',
          responses: { 204: emptyResponse('Removed.') },
          errors: ['ERR_SUBSCRIPTION_NOT_FOUND'],
          security: [{ token: [] }],
        },
        audit: { action: 'subscription.remove', target },
      },
    },
    async ({ params: { id } }, reply) => {
      if (!(await subscriptions.removeById(id))) throw notFound(id);
      return reply.code(204).send();
    },
  );

  app.delete(
    '/v1/subscriptions',
    {
      schema: { querystring: removePersonQuery },
      config: {
        operation: describeOperation({
          tag: 'Subscriptions',
          summary: 'Removes a person',
          description:
            'Deletes all data of this user from the store. The audit keeps a keyed hash of the user; backups and logs are not ' +
            'touched.',
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
          errors: ['ERR_FIELD_VALUE'],
        }),
        audit: {
          action: 'person.remove',
          target: ({ query }) => `user ${parts.hashPerson((query as { readonly user: string }).user)}`,
        },
      },
    },
    async ({ query: { user } }, reply) => sendJson(reply, await removePerson(parts, user)),
  );
}

const target = ({ params }: { readonly params: unknown }): string =>
  `subscription ${(params as { readonly id: number }).id}`;

const split = (text: string | undefined): readonly string[] =>
  text === undefined ? [] : text.split(',').filter((tag) => tag !== '');

const notFound = (id: number): DeskbellError =>
  new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', `There is no subscription ${id}.`);

async function findSubscription(
  subscriptions: Pick<SubscriptionStore, 'findById'>,
  id: number,
): Promise<StoredSubscription> {
  const row = await subscriptions.findById(id);
  if (row === undefined) throw notFound(id);
  return row;
}

const toJson = ({
  id,
  endpoint,
  vapidPublicKey,
  user,
  tags,
  createdAtMs,
  updatedAtMs,
}: StoredSubscription) => ({
  id,
  pushService: new URL(endpoint).origin,
  vapidPublicKey,
  user,
  tags,
  createdAt: isoTime(createdAtMs),
  updatedAt: isoTime(updatedAtMs),
});
