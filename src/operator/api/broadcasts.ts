// /v1/broadcasts: makes, lists, shows, pauses, resumes and cancels broadcasts, and lists their attempts.
import { broadcastToJson, parseIsoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { contentResponse, emptyResponse } from '../../http/description/openapi-responses.ts';
import type { Operation } from '../../http/description/operation.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { searchBroadcasts } from '../../store/broadcast-search.ts';
import { requireBroadcast } from '../../store/broadcasts.ts';
import { broadcastEvents, readLastEventId } from '../broadcast-events.ts';
import { sendEvents } from '../event-stream.ts';
import type { OperatorContext } from '../context.ts';
import { attemptSchema, attemptExample, attemptToJson } from './attempt.ts';
import { attemptsQuery, createBody, idempotencyKey, listQuery } from './broadcast-requests.ts';
import { broadcastExample, broadcastSchema } from './broadcast-schema.ts';
import { describeOperation } from './describe-operation.ts';
import { defaultLimit, pageOf, readPage } from './page.ts';

export const idParams = Type.Object({ id: Type.Integer({ minimum: 1 }) });

/** Of a body with a list of recipients. */
const listLimitBytes = 128 * 1024;

const eventsOperation: Operation = {
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
      `event: done\nid: 1-done\ndata: ${JSON.stringify(broadcastExample)}\n\n`,
    ),
    204: emptyResponse('The client has the event done already.'),
  },
  errors: ['ERR_BROADCAST_NOT_FOUND'],
  security: [{ token: [] }],
};

export function addBroadcastRoutes(app: ServiceApp, parts: OperatorContext): void {
  const { sender } = parts;
  const { broadcasts, operators } = parts.store;
  const createOperation = describeOperation({
    tag: 'Sending',
    summary: 'Makes a broadcast',
    description: 'It is stored, and delivered by `deskbell serve --deliver` or `deskbell worker`.',
    headers: idempotencyKey,
    status: 201,
    schema: broadcastSchema,
    example: broadcastExample,
    errors: [
      'ERR_MESSAGE_INVALID',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_SUBSCRIPTION_INVALID',
      'ERR_FIELD_VALUE',
      'ERR_FIELD_TYPE',
      'ERR_CONFIGURATION',
      'ERR_IDEMPOTENCY_KEY',
    ],
  });
  app.post(
    '/v1/broadcasts',
    {
      bodyLimit: listLimitBytes,
      schema: { body: createBody },
      config: {
        operation: {
          ...createOperation,
          responses: { ...createOperation.responses, 200: createOperation.responses[201]! },
        },
        audit: { action: 'broadcast.create' },
      },
    },
    async (request, reply) => {
      const { audience, message, startAt, ...options } = request.body;
      const key = request.headers['idempotency-key'];
      const { broadcast, isNew } = await sender.createBroadcast(audience, message, {
        ...options,
        startAt: startAt === undefined ? undefined : new Date(readTime(startAt, 'startAt')),
        idempotencyKey: key === undefined ? undefined : String(key),
      });
      request.auditTarget = `broadcast ${broadcast.id}`;
      reply.code(isNew ? 201 : 200).header('location', `/v1/broadcasts/${broadcast.id}`);
      return sendJson(reply, broadcastToJson(broadcast));
    },
  );

  app.get(
    '/v1/broadcasts',
    {
      schema: { querystring: listQuery },
      config: {
        operation: describeOperation({
          tag: 'Sending',
          summary: 'Broadcasts, newest first',
          description: 'A page of a search may have fewer items than asked for, and yet a next one.',
          schema: pageOf(broadcastSchema),
          example: { items: [broadcastExample], next: null },
        }),
      },
    },
    async ({ query: { limit = defaultLimit, cursor, text, state, since, until } }, reply) => {
      const filter = {
        text,
        state,
        sinceMs: since === undefined ? undefined : readTime(since, 'since'),
        untilMs: until === undefined ? undefined : readTime(until, 'until'),
      };
      const found = await searchBroadcasts(broadcasts, filter, { beforeId: cursor, limit });
      return sendJson(reply, {
        items: found.broadcasts.map(broadcastToJson),
        next: found.nextBeforeId ?? null,
      });
    },
  );

  app.get(
    '/v1/broadcasts/:id',
    {
      schema: { params: idParams },
      config: {
        operation: describeOperation({
          tag: 'Sending',
          summary: 'One broadcast with its counts',
          schema: broadcastSchema,
          example: broadcastExample,
          errors: ['ERR_BROADCAST_NOT_FOUND'],
        }),
      },
    },
    async ({ params: { id } }, reply) =>
      sendJson(reply, broadcastToJson(requireBroadcast(await broadcasts.find(id), id))),
  );

  app.get(
    '/v1/broadcasts/:id/attempts',
    {
      schema: { params: idParams, querystring: attemptsQuery },
      config: {
        operation: describeOperation({
          tag: 'Sending',
          summary: 'The attempts of a broadcast, newest first',
          description:
            'A thousand accepted ones and ten thousand others are kept of each of the newest hundred broadcasts.',
          schema: pageOf(attemptSchema),
          example: { items: [attemptExample], next: null },
          errors: ['ERR_BROADCAST_NOT_FOUND'],
        }),
      },
    },
    async ({ params: { id }, query: { limit, cursor, outcome, subscription } }, reply) => {
      requireBroadcast(await broadcasts.find(id), id);
      const filter = { broadcastId: id, subscriptionId: subscription, outcome, beforeId: cursor };
      const { items, next } = await readPage(limit, (count) =>
        broadcasts.attempts({ ...filter, limit: count }),
      );
      return sendJson(reply, { items: items.map(attemptToJson), next });
    },
  );

  app.get(
    '/v1/broadcasts/:id/events',
    {
      exposeHeadRoute: false,
      schema: { params: idParams },
      config: { operation: eventsOperation },
    },
    async ({ params: { id }, headers, operator }, reply) => {
      requireBroadcast(await broadcasts.find(id), id);
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

  const change = (name: 'pause' | 'resume' | 'cancel', summary: string): void => {
    app.post(
      `/v1/broadcasts/:id/${name}`,
      {
        schema: { params: idParams },
        config: {
          operation: describeOperation({
            tag: 'Sending',
            summary,
            schema: broadcastSchema,
            example: broadcastExample,
            errors: ['ERR_BROADCAST_NOT_FOUND', 'ERR_BROADCAST_STATE'],
          }),
          audit: { action: `broadcast.${name}`, target: targetOf },
        },
      },
      async ({ params: { id } }, reply) => sendJson(reply, broadcastToJson(await broadcasts[name](id))),
    );
  };
  change('pause', 'Pauses a broadcast');
  change('resume', 'Resumes a broadcast that is paused');
  change('cancel', 'Cancels a broadcast');
}

const targetOf = ({ params }: { readonly params: unknown }): string =>
  `broadcast ${(params as { readonly id: number }).id}`;

function readTime(text: string, name: string): number {
  const timeMs = parseIsoTime(text);
  if (timeMs !== undefined) return timeMs;
  const detail = `${name} is not a time with a zone, such as 2027-01-01T09:00:00Z.`;
  throw new DeskbellError('ERR_FIELD_VALUE', detail, {
    fields: [{ pointer: `/${name}`, code: 'ERR_FIELD_VALUE', detail }],
  });
}
