// `deskbell schedules`: broadcasts that recur, which `deskbell send --cron` stores.
import type { Command } from 'commander';
import { formatSchedule } from '../../delivery/schedule/format-schedule.ts';
import { scheduleView } from '../../views/schedule.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

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

function removeCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'remove',
    description: 'Removes a schedule. Broadcasts that it has made stay; "broadcasts cancel" ends one.',
    json: 'Prints JSON.',
    examples: ['deskbell schedules remove 3'],
  })
    .argument('<id>', 'Schedule, as "schedules list" prints it.', parsePositiveInteger)
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      if (!(await store.schedules.remove(id))) {
        throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}`);
      }
      await output.result(flags, { id, removed: true }, `Removed schedule ${id}`);
    });
}
