// /v1/schedules: makes, lists, pauses, resumes and removes schedules, by which broadcasts recur.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { assertNotBlank } from '../../protocol/message/assert-not-blank.ts';
import { recurringAudienceSchema } from '../../operations/audience.ts';
import { deliveryOptionSchemas } from '../../operations/delivery-options.ts';
import { exampleMessage, messageSchema } from '../../operations/message.ts';
import { resumeSchedule, withTimes } from '../../delivery/schedule/schedule-times.ts';
import { scheduleView, scheduleWithTimesView } from '../../operations/schedule.ts';
import type { OperatorContext } from '../context.ts';
import { readPage } from '../list-page.ts';
import { idParams, operationsOf } from './operations.ts';

const body = Type.Model(
  'ScheduleRequest',
  Type.Object(
    {
      cron: Type.String({
        description: 'When: five fields, as `deskbell send --cron` takes them.',
        format: 'cron',
      }),
      timezone: Type.Optional(
        Type.String({ description: 'IANA name, such as Europe/Berlin. Default: UTC.', format: 'timezone' }),
      ),
      audience: recurringAudienceSchema,
      message: messageSchema,
      ...deliveryOptionSchemas,
    },
    {
      additionalProperties: false,
      examples: [{ cron: '0 9 * * 1', timezone: 'Europe/Berlin', audience: 'all', message: exampleMessage }],
    },
  ),
);

export function addScheduleRoutes(app: ServiceApp, { store, sender }: OperatorContext): void {
  const { schedules } = store;
  const operations = operationsOf(app, 'Sending');

  operations.add('POST /v1/schedules', {
    operationId: 'createSchedule',
    summary: 'Has a broadcast recur',
    body,
    answer: scheduleView,
    statuses: [201],
    errors: [
      'ERR_SCHEDULE_INVALID',
      'ERR_MESSAGE_INVALID',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_PLACEHOLDER_VALUE',
      'ERR_CHANNEL_NOT_FOUND',
      'ERR_FIELD_VALUE',
      'ERR_FIELD_TYPE',
      'ERR_CONFIGURATION',
    ],
    audit: { action: 'schedule.create' },
    handle: async (request) => {
      const { audience, message, ...options } = request.body;
      assertNotBlank(message);
      const schedule = await sender.createSchedule(audience, message, options);
      request.auditTarget = `schedule ${schedule.id}`;
      return scheduleView.toJson(schedule);
    },
  });

  operations.addList('/v1/schedules', {
    operationId: 'listSchedules',
    summary: 'Schedules, oldest first',
    view: scheduleView,
    read: (_request, { limit, cursor = 0 }) =>
      readPage(limit, (count) => schedules.list({ afterId: cursor, limit: count })),
  });

  operations.add('GET /v1/schedules/:id', {
    operationId: 'getSchedule',
    summary: 'One schedule with its next three times',
    params: idParams,
    answer: scheduleWithTimesView,
    errors: ['ERR_SCHEDULE_NOT_FOUND'],
    handle: async ({ params: { id } }) =>
      scheduleWithTimesView.toJson(await withTimes(await schedules.get(id))),
  });

  operations.add('POST /v1/schedules/:id/pause', {
    operationId: 'pauseSchedule',
    summary: 'Pauses a schedule',
    description: 'It makes no broadcasts until it is resumed. Those that it has made go on.',
    params: idParams,
    answer: scheduleView,
    errors: ['ERR_SCHEDULE_NOT_FOUND'],
    audit: { action: 'schedule.pause', target: ({ params: { id } }) => `schedule ${id}` },
    handle: async ({ params: { id } }) => scheduleView.toJson(await schedules.pause(id)),
  });

  operations.add('POST /v1/schedules/:id/resume', {
    operationId: 'resumeSchedule',
    summary: 'Resumes a schedule that is paused',
    description: 'It goes on with its next time. Times that have passed during the pause are left out.',
    params: idParams,
    answer: scheduleView,
    errors: ['ERR_SCHEDULE_NOT_FOUND', 'ERR_SCHEDULE_INVALID'],
    audit: { action: 'schedule.resume', target: ({ params: { id } }) => `schedule ${id}` },
    handle: async ({ params: { id } }) => scheduleView.toJson(await resumeSchedule(store, id)),
  });

  operations.add('DELETE /v1/schedules/:id', {
    operationId: 'removeSchedule',
    summary: 'Removes a schedule',
    description: 'Broadcasts that it has made stay.',
    params: idParams,
    errors: ['ERR_SCHEDULE_NOT_FOUND'],
    audit: { action: 'schedule.remove', target: ({ params: { id } }) => `schedule ${id}` },
    handle: async ({ params: { id } }) => {
      if (await schedules.remove(id)) return;
      throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}.`);
    },
  });
}
