// `deskbell broadcasts`: the broadcasts of a data directory, and commands to control them.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { listCommand } from './broadcasts-list.ts';
import { outcomesCommand } from './broadcasts-outcomes.ts';
import { resumeCommand } from './broadcasts-resume.ts';
import { showCommand } from './broadcasts-show.ts';
import { controlCommand } from './broadcasts-control.ts';

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
    .addCommand(
      controlCommand(
        context,
        'pause',
        'Pauses a broadcast. Workers stop after the page that they are delivering.',
      ),
    )
    .addCommand(
      controlCommand(context, 'cancel', 'Cancels a broadcast for good. Messages that were sent stay sent.'),
    );
}
