// /v1/schedules: makes, lists and removes schedules, by which broadcasts recur.
import type { RecurringAudience } from '../../delivery/schedule/create-schedule.ts';
import { scheduleToJson } from '../../delivery/schedule/format-schedule.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { emptyResponse } from '../../http/description/openapi-responses.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import type { OperatorContext } from '../context.ts';
import { allAudience, matchingAudience } from './audience-schema.ts';
import { idParams } from './broadcasts.ts';
import { exampleMessage, messageSchema, perPersonSchema, pushOptionSchemas } from './message-schema.ts';
import { describeOperation } from './describe-operation.ts';
import { pageOf, pageQuery, readPage } from './page.ts';

const body = Type.Object(
  {
    cron: Type.String({ description: 'When: five fields, as `deskbell send --cron` takes them.' }),
    timezone: Type.Optional(Type.String({ description: 'IANA name, such as Europe/Berlin.' })),
    audience: Type.Unsafe<RecurringAudience>({
      description: 'Looked at each time anew.',
      anyOf: [allAudience, matchingAudience],
    }),
    message: messageSchema,
    receipts: Type.Optional(Type.Boolean()),
    perPerson: perPersonSchema,
    ...pushOptionSchemas,
  },
  {
    additionalProperties: false,
    examples: [{ cron: '0 9 * * 1', timezone: 'Europe/Berlin', audience: 'all', message: exampleMessage }],
  },
);

const moment = Type.String({ format: 'date-time' });

const scheduleSchema = Type.Object({
  id: Type.Integer(),
  cron: Type.String(),
  timezone: Type.String(),
  nextAt: moment,
  audience: Type.Unsafe({ anyOf: [allAudience, { type: 'object' }] }),
  message: Type.Object({}),
  ttlSeconds: Type.Optional(Type.Integer()),
  urgency: Type.Optional(Type.String()),
  topic: Type.Optional(Type.String()),
  receipts: Type.Boolean(),
  perPerson: perPersonSchema,
  createdAt: moment,
  lastBroadcast: Type.Optional(Type.Integer({ description: 'The newest that it has made.' })),
});

const example = {
  id: 1,
  cron: '0 9 * * 1',
  timezone: 'Europe/Berlin',
  nextAt: '2027-01-04T08:00:00.000Z',
  audience: 'all',
  message: exampleMessage,
  receipts: false,
  createdAt: '2027-01-01T09:00:00.000Z',
};

export function addScheduleRoutes(app: ServiceApp, { store: { schedules }, sender }: OperatorContext): void {
  app.post(
    '/v1/schedules',
    {
      schema: { body },
      config: {
        operation: describeOperation({
          tag: 'Sending',
          summary: 'Has a broadcast recur',
          status: 201,
          schema: scheduleSchema,
          example,
          errors: [
            'ERR_SCHEDULE_INVALID',
            'ERR_MESSAGE_INVALID',
            'ERR_PAYLOAD_TOO_LARGE',
            'ERR_FIELD_VALUE',
            'ERR_FIELD_TYPE',
            'ERR_CONFIGURATION',
          ],
        }),
        audit: { action: 'schedule.create' },
      },
    },
    async (request, reply) => {
      const { audience, message, ...options } = request.body;
      const schedule = await sender.createSchedule(audience, message, options);
      request.auditTarget = `schedule ${schedule.id}`;
      return sendJson(reply.code(201), scheduleToJson(schedule));
    },
  );

  app.get(
    '/v1/schedules',
    {
      schema: { querystring: Type.Object(pageQuery, { additionalProperties: false }) },
      config: {
        operation: describeOperation({
          tag: 'Sending',
          summary: 'Schedules, oldest first',
          schema: pageOf(scheduleSchema),
          example: { items: [example], next: null },
        }),
      },
    },
    async ({ query: { limit, cursor = 0 } }, reply) => {
      const later = (await schedules.list()).filter(({ id }) => id > cursor);
      const { items, next } = await readPage(limit, async (count) => later.slice(0, count));
      return sendJson(reply, { items: items.map(scheduleToJson), next });
    },
  );

  app.delete(
    '/v1/schedules/:id',
    {
      schema: { params: idParams },
      config: {
        operation: {
          tag: 'Sending',
          summary: 'Removes a schedule',
          description: 'Broadcasts that it has made stay.',
          responses: { 204: emptyResponse('Removed.') },
          errors: ['ERR_SCHEDULE_NOT_FOUND'],
          security: [{ token: [] }],
        },
        audit: {
          action: 'schedule.remove',
          target: ({ params }) => `schedule ${(params as { readonly id: number }).id}`,
        },
      },
    },
    async ({ params: { id } }, reply) => {
      if (await schedules.remove(id)) return reply.code(204).send();
      throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}.`);
    },
  );
}
