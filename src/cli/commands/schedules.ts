// `deskbell schedules`: broadcasts that recur, which `deskbell send --cron` stores.
import { Argument, type Command } from 'commander';
import { formatCount, isoTime, nonZeroCounts, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { formatSchedule } from '../../delivery/schedule/format-schedule.ts';
import { resumeSchedule, withTimes, type ScheduleWithTimes } from '../../delivery/schedule/schedule-times.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { scheduleView, scheduleWithTimesView } from '../../views/schedule.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
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
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(removeCommand(context));
}

function listCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'list',
    description: 'Prints each schedule with its times, the next one, its last broadcast, audience and title.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell schedules list', 'deskbell schedules list --json'],
  }).onData(async ({ store }, flags: JsonFlag) => {
    await output.table(flags, {
      rows: await store.schedules.list(),
      toJson: scheduleView.toJson,
      toText: formatSchedule,
      ifEmpty: 'No schedules yet.',
    });
  });
}

function showCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'show',
    description: 'Prints a schedule with its next three times, and what came of its last broadcast.',
    json: 'Prints JSON.',
    examples: ['deskbell schedules show 3'],
  })
    .addArgument(idArgument())
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      const schedule = await withTimes(await store.schedules.get(id));
      const { lastBroadcastId } = schedule;
      const last = lastBroadcastId === undefined ? undefined : await store.broadcasts.find(lastBroadcastId);
      await output.result(flags, scheduleWithTimesView.toJson(schedule), formatWhole(schedule, last));
    });
}

function pauseCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'pause',
    description:
      'Pauses a schedule: it makes no broadcasts until it is resumed. Those that it has made go on.',
    json: 'Prints the schedule as JSON.',
    examples: ['deskbell schedules pause 3'],
  })
    .addArgument(idArgument())
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      const schedule = await store.schedules.pause(id);
      await output.result(flags, scheduleView.toJson(schedule), `Schedule ${id} is paused.`);
    });
}

function resumeCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'resume',
    description:
      'Resumes a schedule. It goes on with its next time; times that have passed during the pause are left out.',
    json: 'Prints the schedule as JSON.',
    examples: ['deskbell schedules resume 3'],
  })
    .addArgument(idArgument())
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      const schedule = await resumeSchedule(store, id);
      const text = `Schedule ${id} sends next at ${isoTime(schedule.nextAtMs)}.`;
      await output.result(flags, scheduleView.toJson(schedule), text);
    });
}

const idArgument = (): Argument =>
  new Argument('<id>', 'Schedule, as "schedules list" prints it.').argParser(parsePositiveInteger);

function formatWhole(schedule: ScheduleWithTimes, last: Broadcast | undefined): string {
  const { createdAtMs, lastBroadcastId, nextTimes } = schedule;
  return [
    formatSchedule(schedule),
    `  created         ${isoTime(createdAtMs)}`,
    ...nextTimes.map((timeMs, index) => `  ${(index === 0 ? 'next' : '').padEnd(16)}${isoTime(timeMs)}`),
    ...(lastBroadcastId === undefined ? [] : [`  last broadcast  ${formatLast(lastBroadcastId, last)}`]),
  ].join('\n');
}

function formatLast(id: number, broadcast: Broadcast | undefined): string {
  if (broadcast === undefined) return `${id}, no longer kept`;
  const counts = nonZeroCounts(broadcast).map(([name, count]) => `${formatCount(count)} ${name}`);
  return [`${id} of ${isoTime(broadcast.startAtMs)}`, stateOf(broadcast), ...counts].join(', ');
}

function removeCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'remove',
    description: 'Removes a schedule. Broadcasts that it has made stay; "broadcasts cancel" ends one.',
    json: 'Prints JSON.',
    examples: ['deskbell schedules remove 3'],
  })
    .addArgument(idArgument())
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      if (!(await store.schedules.remove(id))) {
        throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}`);
      }
      await output.result(flags, { id, removed: true }, `Removed schedule ${id}`);
    });
}
