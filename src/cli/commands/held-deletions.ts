// `deskbell held-deletions`: lists, confirms and discards the deletions that wait for an operator.
import type { Command } from 'commander';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { decisions, listHeldDeletions } from '../../operations/held-deletions.ts';
import { parseOrigin } from '../flags/arguments.ts';
import { type Context, createCommand } from '../command.ts';
import { createChangeCommand, createNamedListCommand } from '../data/data-command.ts';

export function heldDeletionsCommand(context: Context): Command {
  const decision = (name: keyof typeof decisions, done: string): Command =>
    createChangeCommand(context, decisions[name], {
      name,
      examples: [`deskbell held-deletions ${name} https://fcm.googleapis.com`],
      argument: ['Push service as `deskbell held-deletions list` shows it.', parseOrigin],
      toText: ({ origin, subscriptions }) => `${done} ${countOf(subscriptions, 'subscription')} of ${origin}`,
    });
  return createCommand({
    name: 'held-deletions',
    description:
      'Lists, confirms and discards held deletions: subscriptions that a push service called gone while it accepted almost nothing.',
    examples: ['deskbell held-deletions list'],
  })
    .addCommand(
      createNamedListCommand(context, listHeldDeletions, {
        description:
          'Prints how many subscriptions of each push service are waiting for you to confirm or discard their ' +
          'deletion, and since when.',
        examples: ['deskbell held-deletions list', 'deskbell held-deletions list --json'],
        toText: ({ origin, subscriptions, sinceMs }) =>
          `${origin}  ${formatCount(subscriptions)} since ${isoTime(sinceMs)}`,
        ifEmpty: 'No deletions are held.',
      }),
    )
    .addCommand(decision('confirm', 'Deleted'))
    .addCommand(decision('discard', 'Kept'));
}
