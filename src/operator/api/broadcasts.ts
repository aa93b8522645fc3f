// /v1/broadcasts: makes, lists, shows, pauses, resumes and cancels broadcasts, and lists their attempts.
import { contentResponse, emptyResponse, type Operation } from '../../http/description/operation.ts';
import { type ServiceApp, Type } from '../../http/schema.ts';
import { assertNotBlank } from '../../protocol/message/assert-not-blank.ts';
import { searchBroadcasts } from '../broadcast-search.ts';
import { attemptView } from '../../operations/attempt.ts';
import { broadcastView, broadcastWithTimesToJson } from '../../operations/broadcast.ts';
import { broadcastEvents, readLastEventId } from '../broadcast-events.ts';
import { sendEvents } from '../event-stream.ts';
import type { OperatorContext } from '../context.ts';
import { senders, watchers } from '../../operations/operation.ts';
import { readPage } from '../list-page.ts';
import {
  assertShowsRows,
  assertTellsNothing,
  claimBroadcast,
  getOwnBroadcast,
  ownerIdOf,
} from '../own-broadcasts.ts';
import { broadcastChanges } from '../../operations/broadcast-changes.ts';
import { idParams } from '../../operations/operation.ts';
import { addOperations, operationsOf } from './operations.ts';
import { attemptsQuery, bodyLimit, createBody, idempotencyKey, listQuery } from './broadcast-requests.ts';

const eventsOperation: Operation = {
  operationId: 'followBroadcast',
  tag: 'Sending',
  summary: 'The events of a broadcast as they happen',
  description:
    'Server-sent events: `progress` when something has changed, `alarm` for each alarm, and `done` with the final counts, after ' +
    'which the stream ends. A client that reconnects with `Last-Event-ID` gets the alarms that it has missed and the current ' +
    'state; after `done` the answer is a 204.',
  headers: {
    'Last-Event-ID': { description: 'Of the last event that the client has.', schema: { type: 'string' } },
  },
  responses: {
    200: contentResponse(
      'text/event-stream',
      'Events, until the broadcast is over.',
      Type.String(),
      `event: done\nid: 1-done\ndata: ${JSON.stringify(broadcastView.example)}\n\n`,
    ),
    204: emptyResponse('The client has the event done already.'),
  },
  errors: ['ERR_BROADCAST_NOT_FOUND'],
  security: [{ token: [] }],
};

export function addBroadcastRoutes(app: ServiceApp, parts: OperatorContext): void {
  const operations = operationsOf(app, 'Sending');
  const { sender, store } = parts;
  const { attempts, broadcasts, operators, statistics } = store;

  operations.add('POST /v1/broadcasts', {
    operationId: 'createBroadcast',
    summary: 'Makes a broadcast',
    description:
      'It is stored, and delivered by `deskbell serve --deliver` or `deskbell worker`. Where finding a large audience by user and ' +
      'tags takes more than two seconds, the answer has the state `preparing`, and the audience goes on growing.',
    headers: idempotencyKey,
    body: createBody,
    bodyLimit,
    answer: broadcastView,
    statuses: [201, 200],
    errors: [
      'ERR_MESSAGE_INVALID',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_PLACEHOLDER_VALUE',
      'ERR_CHANNEL_NOT_FOUND',
      'ERR_SUBSCRIPTION_INVALID',
      'ERR_FIELD_VALUE',
      'ERR_FIELD_TYPE',
      'ERR_CONFIGURATION',
      'ERR_IDEMPOTENCY_KEY',
    ],
    roles: senders,
    audit: { action: 'broadcast.create' },
    handle: async (request, reply) => {
      const { audience, message, startAt, ...options } = request.body;
      assertNotBlank(message);
      assertTellsNothing(request.operator, audience, message, options);
      const key = request.headers['idempotency-key'];
      const { broadcast, isNew } = await sender.createBroadcast(audience, message, {
        ...options,
        startAt: startAt === undefined ? undefined : new Date(startAt),
        idempotencyKey: key === undefined ? undefined : String(key),
        createdBy: { operator: request.operator?.name ?? '' },
      });
      await claimBroadcast(operators, broadcast, request.operator);
      request.auditTarget = `broadcast ${broadcast.id}`;
      reply.code(isNew ? 201 : 200).header('location', `/v1/broadcasts/${broadcast.id}`);
      return broadcastView.toJson(broadcast);
    },
  });

  operations.addList('/v1/broadcasts', {
    operationId: 'listBroadcasts',
    summary: 'Broadcasts, newest first',
    description: 'A page of a search may have fewer items than asked for, and yet a next one.',
    query: listQuery,
    view: broadcastView,
    roles: watchers,
    read: ({ query: { text, state, since, until }, operator }, { limit, cursor }) => {
      const filter = {
        operatorId: ownerIdOf(operator),
        text,
        state,
        sinceMs: since === undefined ? undefined : Date.parse(since),
        untilMs: until === undefined ? undefined : Date.parse(until),
      };
      return searchBroadcasts(broadcasts, filter, { beforeId: cursor, limit });
    },
  });

  operations.add('GET /v1/broadcasts/:id', {
    operationId: 'getBroadcast',
    summary: 'One broadcast with its counts',
    params: idParams,
    answer: broadcastView,
    errors: ['ERR_BROADCAST_NOT_FOUND'],
    roles: watchers,
    handle: async ({ params: { id }, operator }) =>
      broadcastWithTimesToJson(await getOwnBroadcast(store, id, operator), await statistics.outcomesOf(id)),
  });

  operations.addList('/v1/broadcasts/:id/attempts', {
    operationId: 'listBroadcastAttempts',
    summary: 'The attempts of a broadcast, newest first',
    description:
      'All of them, for every stored subscription, as long as `keepAttemptsDays` says. Rows that were settled without ' +
      'being sent are listed too; they have no status.',
    params: idParams,
    query: attemptsQuery,
    view: attemptView,
    errors: ['ERR_BROADCAST_NOT_FOUND', 'ERR_TOKEN_ROLE'],
    roles: watchers,
    read: async ({ params: { id }, query: { outcome, subscription }, operator }, { limit, cursor }) => {
      await assertShowsRows(store, id, operator);
      const filter = { broadcastId: id, subscriptionId: subscription, outcome, beforeId: cursor };
      return readPage(limit, (count) => attempts.list({ ...filter, limit: count }));
    },
  });

  app.get(
    '/v1/broadcasts/:id/events',
    {
      exposeHeadRoute: false,
      schema: { params: Type.Object(idParams) },
      config: { operation: eventsOperation, roles: watchers },
    },
    async ({ params: { id }, headers, operator }, reply) => {
      await getOwnBroadcast(store, id, operator);
      const seen = readLastEventId(headers['last-event-id']);
      // Tells a browser not to come back.
      if (seen.isDone) return reply.code(204).send();
      return sendEvents(
        reply,
        (gone) => broadcastEvents(parts.progress.follow(id, gone), seen),
        async () => (await operators.findById(operator?.id ?? 0)) !== undefined,
      );
    },
  );

  addOperations(app, parts, Object.values(broadcastChanges));
}
