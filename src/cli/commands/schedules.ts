// `deskbell schedules`: broadcasts that recur, which `deskbell send --cron` stores.
import type { Command } from 'commander';
import { formatCount } from '../../errors/format-count.ts';
import { isoTime, nonZeroCounts, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { formatSchedule } from '../../delivery/schedule/format-schedule.ts';
import { resumeSchedule, withTimes, type ScheduleWithTimes } from '../../delivery/schedule/schedule-times.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';
import { scheduleView, scheduleWithTimesView } from '../../operations/schedule.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { formatDeliveryFlags } from '../flags/delivery-flags.ts';
import { createCommand, type CommandDescription } from '../command.ts';
import { createDataCommand, createListCommand } from '../data/data-command.ts';
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

const listCommand = (context: Context): Command =>
  createListCommand(context, {
    description: 'Prints each schedule with its times, the next one, its last broadcast, audience and title.',
    examples: ['deskbell schedules list', 'deskbell schedules list --json'],
    rowsOf: ({ store }) => store.schedules.list(),
    toJson: scheduleView.toJson,
    toText: formatSchedule,
    ifEmpty: 'No schedules yet.',
  });

/** A command on one schedule. @param run gives what is printed, as JSON and as text */
const scheduleCommand = (
  { environment, output }: Context,
  { name, description, json }: Pick<CommandDescription, 'name' | 'description' | 'json'>,
  run: (store: Store, id: number) => Promise<readonly [value: object, text: string]>,
): Command =>
  createDataCommand(environment, {
    name,
    description,
    json: json ?? 'Prints the schedule as JSON.',
    examples: [`deskbell schedules ${name} 3`],
  })
    .argument('<id>', 'Schedule, as "schedules list" prints it.', parsePositiveInteger)
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      const [value, text] = await run(store, id);
      await output.result(flags, value, text);
    });

const showCommand = (context: Context): Command =>
  scheduleCommand(
    context,
    {
      name: 'show',
      description: 'Prints a schedule with its next three times, and what came of its last broadcast.',
      json: 'Prints JSON.',
    },
    async (store, id) => {
      const schedule = await withTimes(await store.schedules.get(id));
      const { lastBroadcastId } = schedule;
      const last = lastBroadcastId === undefined ? undefined : await store.broadcasts.find(lastBroadcastId);
      return [scheduleWithTimesView.toJson(schedule), formatWhole(schedule, last)];
    },
  );

const pauseCommand = (context: Context): Command =>
  scheduleCommand(
    context,
    {
      name: 'pause',
      description:
        'Pauses a schedule: it makes no broadcasts until it is resumed. Those that it has made go on.',
    },
    async ({ schedules }, id) => [
      scheduleView.toJson(await schedules.pause(id)),
      `Schedule ${id} is paused.`,
    ],
  );

const resumeCommand = (context: Context): Command =>
  scheduleCommand(
    context,
    {
      name: 'resume',
      description:
        'Resumes a schedule. It goes on with its next time; times that have passed during the pause are left out.',
    },
    async (store, id) => {
      const schedule = await resumeSchedule(store, id);
      return [scheduleView.toJson(schedule), `Schedule ${id} sends next at ${isoTime(schedule.nextAtMs)}.`];
    },
  );

const removeCommand = (context: Context): Command =>
  scheduleCommand(
    context,
    {
      name: 'remove',
      description: 'Removes a schedule. Broadcasts that it has made stay; "broadcasts cancel" ends one.',
      json: 'Prints JSON.',
    },
    async ({ schedules }, id) => {
      if (await schedules.remove(id)) return [{ id, removed: true }, `Removed schedule ${id}`];
      throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}`);
    },
  );

function formatWhole(schedule: ScheduleWithTimes, last: Broadcast | undefined): string {
  const { createdAtMs, lastBroadcastId, nextTimes } = schedule;
  const options = formatDeliveryFlags(schedule);
  return [
    formatSchedule(schedule),
    `  created         ${isoTime(createdAtMs)}`,
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
