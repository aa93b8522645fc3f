// Schedules (recurring broadcasts), and the pause that stops all automatic sending.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { type ResumeOptions, resumeSending } from '../delivery/schedule/resume-sending.ts';
import { resumeSchedule, type ScheduleWithTimes } from '../delivery/schedule/create-schedule.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { Optional, Type } from '../http/schema.ts';
import type { Schedule } from '../store/schedules.ts';
import { recurringAudienceSchema } from './audience.ts';
import { auditView, type Changed, changesSchema } from './audit.ts';
import { creatorSchema } from './broadcasts.ts';
import { deliveryOptionSchemas, messageSchema } from './message.ts';
import { type Change, idParams, operation, type View } from './operation.ts';

const members = {
  id: Type.Integer(),
  cron: Type.String(),
  timezone: Type.String(),
  nextAt: Optional.Time('The next time; absent while the schedule is paused.'),
  pausedAt: Optional.Time('When the schedule was paused. Times that pass during the pause are left out.'),
  audience: recurringAudienceSchema,
  message: messageSchema,
  ...deliveryOptionSchemas,
  createdAt: Type.Time(),
  createdBy: Type.Optional(creatorSchema),
  lastBroadcast: Optional.Integer({ description: 'The newest broadcast that the schedule has created.' }),
};

export const scheduleView: View<Schedule> = {
  schema: Type.Named('Schedule', members),
  toJson: ({ nextAtMs, createdAtMs, pausedAtMs, lastBroadcastId, ...schedule }) => ({
    ...schedule,
    ...(pausedAtMs === undefined ? { nextAt: isoTime(nextAtMs) } : { pausedAt: isoTime(pausedAtMs) }),
    createdAt: isoTime(createdAtMs),
    lastBroadcast: lastBroadcastId,
  }),
};

export const scheduleWithTimesView: View<ScheduleWithTimes & Changed> = {
  schema: Type.Named('ScheduleWithTimes', {
    ...members,
    nextTimes: Type.Array(Type.Time(), {
      description: 'The next three times; none while the schedule is paused.',
    }),
    changes: changesSchema,
  }),
  toJson: ({ nextTimes, changes, ...schedule }) => ({
    ...scheduleView.toJson(schedule),
    nextTimes: nextTimes.map(isoTime),
    changes: changes.map(auditView.toJson),
  }),
};

const ofOne = {
  tag: 'Sending',
  params: idParams,
  target: ({ id }: { readonly id: number }) => `schedule ${id}`,
};

export const pauseSchedule = operation({
  ...ofOne,
  route: 'POST /v1/schedules/:id/pause',
  operationId: 'pauseSchedule',
  summary: 'Pauses a schedule',
  description:
    'The schedule creates no broadcasts until it is resumed. Broadcasts that the schedule has already created continue.',
  answer: scheduleView,
  errors: ['ERR_SCHEDULE_NOT_FOUND'],
  action: 'schedule.pause',
  run: ({ store }, { id }) => store.schedules.pause(id),
});

export const continueSchedule = operation({
  ...ofOne,
  route: 'POST /v1/schedules/:id/resume',
  operationId: 'resumeSchedule',
  summary: 'Resumes a schedule that is paused',
  description:
    'The schedule creates its next broadcast when that is due. The schedule skips broadcasts that were due during ' +
    'the pause.',
  answer: scheduleView,
  errors: ['ERR_SCHEDULE_NOT_FOUND', 'ERR_SCHEDULE_INVALID'],
  action: 'schedule.resume',
  run: ({ store }, { id }) => resumeSchedule(store, id),
});

export const removeSchedule = operation({
  ...ofOne,
  route: 'DELETE /v1/schedules/:id',
  operationId: 'removeSchedule',
  summary: 'Removes a schedule',
  description:
    'Broadcasts that the schedule has already created continue. To end a broadcast that the schedule has already ' +
    'created, cancel the broadcast.',
  errors: ['ERR_SCHEDULE_NOT_FOUND'],
  action: 'schedule.remove',
  run: async ({ store }, { id }) => {
    if (await store.schedules.remove(id)) return;
    throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}.`);
  },
});

export const pauseStore: Change<object, unknown> = {
  action: 'sending.pause',
  target: () => 'sending',
  run: ({ store }) => store.sending.pause('asked'),
};

/** Returns the ids of the broadcasts that are resumed. */
export const resumeStore: Change<ResumeOptions, readonly number[]> = {
  action: 'sending.resume',
  target: () => 'sending',
  run: ({ store }, options) => resumeSending(store, options),
};
