// `deskbell schedules`: recurring broadcasts, made by `deskbell send --cron`.
import type { Command } from 'commander';
import { formatCount } from '../../errors/format-count.ts';
import { formatCreator, isoTime, nonZeroCounts, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import {
  formatSchedule,
  type ScheduleWithTimes,
  withTimes,
} from '../../delivery/schedule/create-schedule.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { type Changed, formatChange, readChanges } from '../../operations/audit.ts';
import {
  continueSchedule,
  pauseSchedule,
  removeSchedule,
  scheduleView,
  scheduleWithTimesView,
} from '../../operations/schedules.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { formatDeliveryFlags } from '../flags/message-flags.ts';
import { type Context, createCommand } from '../command.ts';
import { createChangeCommand, createDataCommand, createListCommand } from '../data/data-command.ts';
import type { JsonFlag } from '../output/output.ts';

export function schedulesCommand(context: Context): Command {
  return createCommand({
    name: 'schedules',
    description:
      'Lists, shows, pauses, resumes and removes schedules: broadcasts that recur, stored by "send --cron".',
    examples: ['deskbell schedules list', 'deskbell schedules pause 3'],
  })
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(
      createChangeCommand(context, pauseSchedule, {
        name: 'pause',
        examples: ['deskbell schedules pause 3'],
        argument,
        toText: (_schedule, { id }) => `Schedule ${id} is paused.`,
      }),
    )
    .addCommand(
      createChangeCommand(context, continueSchedule, {
        name: 'resume',
        examples: ['deskbell schedules resume 3'],
        argument,
        toText: ({ nextAtMs }, { id }) => `Schedule ${id} sends next at ${isoTime(nextAtMs)}.`,
      }),
    )
    .addCommand(
      createChangeCommand(context, removeSchedule, {
        name: 'remove',
        examples: ['deskbell schedules remove 3'],
        argument,
        toText: (_removed, { id }) => `Removed schedule ${id}`,
      }),
    );
}

const listCommand = (context: Context): Command =>
  createListCommand(context, {
    description:
      'Prints each schedule with its cron expression, next broadcast, last broadcast, audience and title.',
    examples: ['deskbell schedules list', 'deskbell schedules list --json'],
    rowsOf: ({ store }) => store.schedules.list(),
    toJson: scheduleView.toJson,
    toText: formatSchedule,
    ifEmpty: 'No schedules yet.',
  });

const argument = 'Schedule, as "schedules list" prints it.';

const showCommand = ({ environment, output }: Context): Command =>
  createDataCommand(environment, {
    name: 'show',
    description:
      'Prints a schedule with the times of its next three broadcasts, and the result of its last broadcast.',
    json: 'Prints JSON.',
    examples: ['deskbell schedules show 3'],
  })
    .argument('<id>', argument, parsePositiveInteger)
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      const changes = await readChanges(store, `schedule ${id}`);
      const schedule = { ...(await withTimes(await store.schedules.get(id))), changes };
      const { lastBroadcastId } = schedule;
      const last = lastBroadcastId === undefined ? undefined : await store.broadcasts.find(lastBroadcastId);
      await output.result(flags, scheduleWithTimesView.toJson(schedule), formatWhole(schedule, last));
    });

function formatWhole(schedule: ScheduleWithTimes & Changed, last: Broadcast | undefined): string {
  const { createdAtMs, createdBy, lastBroadcastId, nextTimes, changes } = schedule;
  const options = formatDeliveryFlags(schedule);
  return [
    formatSchedule(schedule),
    `  created         ${isoTime(createdAtMs)} by ${formatCreator(createdBy)}`,
    ...changes.map((change) => `  changed         ${isoTime(change.atMs)} ${formatChange(change)}`),
    ...(options === '' ? [] : [`  with            ${options}`]),
    ...nextTimes.map((timeMs, index) => `  ${(index === 0 ? 'next' : '').padEnd(16)}${isoTime(timeMs)}`),
    ...(lastBroadcastId === undefined ? [] : [`  last broadcast  ${formatLast(lastBroadcastId, last)}`]),
  ].join('\n');
}

function formatLast(id: number, broadcast: Broadcast | undefined): string {
  if (broadcast === undefined) return `${id}, no longer kept`;
  const counts = nonZeroCounts(broadcast).map(([name, count]) => `${formatCount(count)} ${name}`);
  return [`${id} of ${isoTime(broadcast.startAtMs)}`, stateOf(broadcast), ...counts].join(', ');
}
