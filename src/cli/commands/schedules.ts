// `deskbell schedules`: broadcasts that recur, which `deskbell send --cron` stores.
import type { Command } from 'commander';
import { formatSchedule, scheduleToJson } from '../../delivery/schedule/format-schedule.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { dataSettings, withNamedData } from '../data/open-data.ts';

export function schedulesCommand(context: Context): Command {
  return createCommand({
    name: 'schedules',
    description: 'Lists and removes schedules: broadcasts that recur, stored by "send --cron".',
    examples: ['deskbell schedules list', 'deskbell schedules remove 3'],
  })
    .addCommand(listCommand(context))
    .addCommand(removeCommand(context));
}

function listCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'list',
    description: 'Prints each schedule with its times, the next one, its last broadcast, audience and title.',
    settings: [...dataSettings],
    examples: ['deskbell schedules list', 'deskbell schedules list --json'],
  })
    .option('--json', 'Prints JSON Lines.')
    .action(async (flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const schedules = await store.schedules.list();
        if (schedules.length === 0 && !flags.json) output.diagnostic('No schedules yet.');
        for (const schedule of schedules) {
          await output.line(flags.json ? JSON.stringify(scheduleToJson(schedule)) : formatSchedule(schedule));
        }
      });
    });
}

function removeCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'remove',
    description: 'Removes a schedule. Broadcasts that it has made stay; "broadcasts cancel" ends one.',
    settings: [...dataSettings],
    examples: ['deskbell schedules remove 3'],
  })
    .argument('<id>', 'Schedule, as "schedules list" prints it.', parsePositiveInteger)
    .option('--json', 'Prints JSON.')
    .action(async (id: number, flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        if (!(await store.schedules.remove(id))) {
          throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}`);
        }
        await output.line(flags.json ? JSON.stringify({ id, removed: true }) : `Removed schedule ${id}`);
      });
    });
}
