// /v1/schedules: creates, lists, pauses, resumes and removes recurring broadcasts.
import { Optional, type ServiceApp, Type } from '../../http/schema.ts';
import { assertNotBlank } from '../../protocol/message/check-message.ts';
import { recurringAudienceSchema } from '../../operations/audience.ts';
import { deliveryOptionSchemas, exampleMessage, messageSchema } from '../../operations/message.ts';
import { withTimes } from '../../delivery/schedule/create-schedule.ts';
import { readChanges } from '../../operations/audit.ts';
import {
  continueSchedule,
  pauseSchedule,
  removeSchedule,
  scheduleView,
  scheduleWithTimesView,
} from '../../operations/schedules.ts';
import type { OperatorContext } from '../context.ts';
import { readPage } from '../searches.ts';
import { idParams } from '../../operations/operation.ts';
import { audienceErrors } from './broadcasts.ts';
import { addList, addOperations, addRoute } from './operations.ts';

const body = Type.Named(
  'ScheduleRequest',
  {
    cron: Type.String({
      description: 'When the broadcast recurs: five fields, in the format of `deskbell send --cron`.',
      format: 'cron',
    }),
    timezone: Optional.String({
      description: 'The IANA name of a time zone, such as Europe/Berlin. Default: UTC.',
      format: 'timezone',
    }),
    audience: recurringAudienceSchema,
    message: messageSchema,
    ...deliveryOptionSchemas,
  },
  {
    additionalProperties: false,
    examples: [{ cron: '0 9 * * 1', timezone: 'Europe/Berlin', audience: 'all', message: exampleMessage }],
  },
);

export function addScheduleRoutes(app: ServiceApp, parts: OperatorContext): void {
  const { store, sender } = parts;
  const { schedules } = store;
  addRoute(app, 'Sending', 'POST /v1/schedules', {
    operationId: 'createSchedule',
    summary: 'Creates a schedule, which repeats a broadcast',
    body,
    answer: scheduleView.schema,
    statuses: [201],
    errors: ['ERR_SCHEDULE_INVALID', ...audienceErrors],
    audit: { action: 'schedule.create' },
    handle: async (request) => {
      const { audience, message, ...options } = request.body;
      assertNotBlank(message);
      const createdBy = { operator: request.operator?.name ?? '' };
      const schedule = await sender.createSchedule(audience, message, { ...options, createdBy });
      request.auditTarget = `schedule ${schedule.id}`;
      return scheduleView.toJson(schedule);
    },
  });

  addList(app, 'Sending', '/v1/schedules', {
    operationId: 'listSchedules',
    summary: 'Lists schedules, oldest first',
    view: scheduleView,
    read: (_request, { limit, cursor = 0 }) =>
      readPage(limit, (count) => schedules.list({ afterId: cursor, limit: count })),
  });

  addRoute(app, 'Sending', 'GET /v1/schedules/:id', {
    operationId: 'getSchedule',
    summary: 'Returns one schedule with its next three times',
    params: idParams,
    answer: scheduleWithTimesView.schema,
    errors: ['ERR_SCHEDULE_NOT_FOUND'],
    handle: async ({ params: { id } }) =>
      scheduleWithTimesView.toJson({
        ...(await withTimes(await schedules.get(id))),
        changes: await readChanges(store, `schedule ${id}`),
      }),
  });

  addOperations(app, parts, [pauseSchedule, continueSchedule, removeSchedule]);
}
