// `deskbell broadcasts`: the broadcasts of a data directory, and commands to control them.
import type { Command } from 'commander';
import { stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { formatCount } from '../../errors/format-count.ts';
import { broadcastChanges } from '../../operations/broadcast-changes.ts';
import { createCommand } from '../command.ts';
import { createChangeCommand } from '../data/operation-command.ts';
import type { Context } from '../context.ts';
import { listCommand } from './broadcasts-list.ts';
import { outcomesCommand } from './broadcasts-outcomes.ts';
import { resumeCommand } from './broadcasts-resume.ts';
import { showCommand } from './broadcasts-show.ts';

export function broadcastsCommand(context: Context): Command {
  return createCommand({
    name: 'broadcasts',
    description: 'Lists, shows, pauses, resumes and cancels broadcasts.',
    examples: ['deskbell broadcasts list', 'deskbell broadcasts show 7'],
  })
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(outcomesCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(controlCommand(context, 'pause'))
    .addCommand(controlCommand(context, 'cancel'));
}

/** Whichever process delivers it. */
const controlCommand = (context: Context, name: 'pause' | 'cancel'): Command =>
  createChangeCommand(context, broadcastChanges[name], {
    name,
    examples: [`deskbell broadcasts ${name} 7`],
    argument: 'Broadcast ID.',
    toText: (broadcast, { id }) =>
      `Broadcast ${id} is ${stateOf(broadcast)}; ${formatCount(broadcast.counts.accepted)} of ${formatCount(broadcast.recipients)} accepted.`,
  });
