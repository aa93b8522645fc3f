// `deskbell broadcasts`: what was sent to many, what is being sent, and the steering of it.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { listCommand } from './broadcasts-list.ts';
import { resumeCommand } from './broadcasts-resume.ts';
import { showCommand } from './broadcasts-show.ts';
import { steerCommand } from './broadcasts-steer.ts';

export function broadcastsCommand(context: Context): Command {
  return createCommand({
    name: 'broadcasts',
    description: 'Lists, shows, pauses, resumes and cancels broadcasts.',
    examples: ['deskbell broadcasts list', 'deskbell broadcasts resume 7'],
  })
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(
      steerCommand(context, 'pause', 'Pauses a broadcast; whoever works on it stops after the page in hand.'),
    )
    .addCommand(steerCommand(context, 'cancel', 'Ends a broadcast for good; what was sent is sent.'));
}
