// /v1/broadcasts: creates, lists, shows, pauses, resumes and cancels broadcasts, and lists their attempts.
import type { ErrorCode } from '../../errors/catalogue.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { idKeywords, Optional, type ServiceApp, Type } from '../../http/schema.ts';
import { audienceSchema } from '../../operations/audience.ts';
import { readChanges } from '../../operations/audit.ts';
import {
  broadcastChanges,
  broadcastStates,
  broadcastView,
  broadcastWithTimesToJson,
} from '../../operations/broadcasts.ts';
import {
  deliveryOptionSchemas,
  exampleForReaders,
  exampleMessage,
  messageSchema,
} from '../../operations/message.ts';
import { idParams, senders, watchers } from '../../operations/operation.ts';
import { attemptView } from '../../operations/outcomes.ts';
import { isOfBroadcast } from '../../delivery/broadcast/audience.ts';
import { assertNotBlank } from '../../protocol/message/check-message.ts';
import { type AttemptOutcome, attemptOutcomes } from '../../store/attempts.ts';
import {
  assertShowsRows,
  assertTellsNothing,
  claimBroadcast,
  getOwnBroadcast,
  ownerIdOf,
} from '../authorize.ts';
import { broadcastEvents, readLastEventId, sendEvents } from '../broadcast-events.ts';
import type { OperatorContext } from '../context.ts';
import { readPage, searchBroadcasts } from '../searches.ts';
import { exampleOf } from './examples.ts';
import { addList, addOperations, addRoute, idempotencyKeyOf } from './operations.ts';

/** What may be wrong with a message to an audience. */
export const audienceErrors: readonly ErrorCode[] = [
  'ERR_MESSAGE_INVALID',
  'ERR_PAYLOAD_TOO_LARGE',
  'ERR_PLACEHOLDER_VALUE',
  'ERR_CHANNEL_NOT_FOUND',
  'ERR_FIELD_VALUE',
  'ERR_FIELD_TYPE',
  'ERR_CONFIGURATION',
];

/** In bytes; large enough for a list of recipients. */
const bodyLimit = 128 * 1024;

const createBody = Type.Named(
  'BroadcastRequest',
  {
    audience: audienceSchema,
    message: messageSchema,
    startAt: Optional.Time('Nothing is sent before this time. It may be at most a minute ago. Default: now.'),
    ...deliveryOptionSchemas,
  },
  {
    additionalProperties: false,
    examples: [
      { audience: 'all', message: exampleMessage, startAt: '2037-01-01T09:00:00+01:00' },
      { audience: 'all', message: exampleForReaders, localTime: '09:00', timeZone: 'Europe/Berlin' },
    ],
  },
);

const listQuery = {
  text: Optional.String({
    description: 'Only broadcasts whose title or message contains this text, ignoring case.',
  }),
  state: Optional.Unsafe<(typeof broadcastStates)[number]>({ type: 'string', enum: broadcastStates }),
  bell: Optional.String({ description: 'Only broadcasts of this bell.' }),
  since: Optional.Time('Only broadcasts that start at this time or later.'),
  until: Optional.Time('Only broadcasts that start before this time.'),
};

const attemptsQuery = {
  outcome: Optional.Unsafe<AttemptOutcome>({ type: 'string', enum: attemptOutcomes }),
  subscription: Optional.Integer({ ...idKeywords, description: 'Only for this subscription.' }),
};

const idempotencyKey = idempotencyKeyOf(
  'A text that you choose, at most 200 characters. If you repeat a request with the same key, message and audience, no second ' +
    'broadcast is created; the response contains the first broadcast.',
);

const eventsOperation: Operation = {
  operationId: 'followBroadcast',
  tag: 'Sending',
  summary: 'Sends the events of a broadcast as they happen',
  description:
    'The response consists of server-sent events: `progress` when something has changed, `alarm` for each alarm, and `done` ' +
    'with the final counts. The stream ends after `done`. A client that reconnects with `Last-Event-ID` gets the alarms that ' +
    'it missed, and the current state. If the client has already received `done`, it gets a 204.',
  headers: {
    'Last-Event-ID': {
      description: 'Id of the last event that the client has received.',
      schema: { type: 'string' },
    },
  },
  responses: {
    200: contentResponse(
      'text/event-stream',
      'The events of the broadcast until it is over.',
      Type.String(),
      `event: done\nid: 1-done\ndata: ${JSON.stringify(exampleOf(broadcastView.schema))}\n\n`,
    ),
    204: { description: 'The client has already received the event done.' },
  },
  errors: ['ERR_BROADCAST_NOT_FOUND'],
  security: [{ token: [] }],
};

export function addBroadcastRoutes(app: ServiceApp, parts: OperatorContext): void {
  const { readProgress, sender, store } = parts;
  const { attempts, broadcasts, operators, statistics } = store;

  addRoute(app, 'Sending', 'POST /v1/broadcasts', {
    operationId: 'createBroadcast',
    summary: 'Creates a broadcast',
    description:
      'The request only stores the broadcast; `deskbell serve --deliver` or `deskbell worker` delivers it. If selecting a large ' +
      'audience by user and tags takes more than two seconds, the state in the response is `preparing`, and the selection continues.',
    headers: idempotencyKey,
    body: createBody,
    bodyLimit,
    answer: broadcastView.schema,
    statuses: [201, 200],
    errors: [
      ...audienceErrors,
      'ERR_SUBSCRIPTION_INVALID',
      'ERR_BROADCAST_NOT_FOUND',
      'ERR_TOKEN_ROLE',
      'ERR_IDEMPOTENCY_KEY',
    ],
    roles: senders,
    audit: { action: 'broadcast.create' },
    handle: async (request, reply) => {
      const { audience, message, startAt, ...options } = request.body;
      assertNotBlank(message);
      assertTellsNothing(request.operator, audience, message, options);
      if (isOfBroadcast(audience)) await assertShowsRows(store, audience.broadcast, request.operator);
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

  addList(app, 'Sending', '/v1/broadcasts', {
    operationId: 'listBroadcasts',
    summary: 'Lists broadcasts, newest first',
    description: 'A page of a search may have fewer items than `limit` and still have a next page.',
    query: listQuery,
    view: broadcastView,
    roles: watchers,
    read: ({ query: { text, state, bell, since, until }, operator }, { limit, cursor }) => {
      const filter = {
        operatorId: ownerIdOf(operator),
        text,
        state,
        bell,
        sinceMs: since === undefined ? undefined : Date.parse(since),
        untilMs: until === undefined ? undefined : Date.parse(until),
      };
      return searchBroadcasts(broadcasts, filter, { beforeId: cursor, limit });
    },
  });

  addRoute(app, 'Sending', 'GET /v1/broadcasts/:id', {
    operationId: 'getBroadcast',
    summary: 'Returns one broadcast with its counts',
    params: idParams,
    answer: broadcastView.schema,
    errors: ['ERR_BROADCAST_NOT_FOUND'],
    roles: watchers,
    handle: async ({ params: { id }, operator }) =>
      broadcastWithTimesToJson(
        await getOwnBroadcast(store, id, operator),
        await statistics.outcomesOf(id),
        await broadcasts.leftOut(id),
        await readChanges(store, `broadcast ${id}`),
      ),
  });

  addList(app, 'Sending', '/v1/broadcasts/:id/attempts', {
    operationId: 'listBroadcastAttempts',
    summary: 'Lists the attempts of a broadcast, newest first',
    description:
      'The list contains all attempts for every stored subscription. Attempts are kept for `keepAttemptsDays`. Messages that ' +
      'ended without being sent are listed too, without a status.',
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
      // a 204 tells the browser not to reconnect
      if (seen.isDone) return reply.code(204).send();
      const isPermitted = async () => (await operators.findById(operator?.id ?? 0)) !== undefined;
      return sendEvents(
        reply,
        broadcastEvents(() => readProgress(id), seen, isPermitted),
      );
    },
  );

  addOperations(app, parts, Object.values(broadcastChanges));
}
