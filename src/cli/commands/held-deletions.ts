// `deskbell held-deletions`: lists, confirms and discards the deletions that wait for an operator.
import type { Command } from 'commander';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { requireHeldDeletions } from '../../store/held-deletions.ts';
import { heldDeletionView } from '../../operations/held-deletion.ts';
import { parseOrigin } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { createDataCommand, createListCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

export function heldDeletionsCommand(context: Context): Command {
  return createCommand({
    name: 'held-deletions',
    description:
      'Lists, confirms and discards held deletions: subscriptions that a push service called gone while it accepted almost nothing.',
    examples: ['deskbell held-deletions list'],
  })
    .addCommand(listCommand(context))
    .addCommand(decisionCommand(context, 'confirm', 'Deletes', 'Deleted'))
    .addCommand(decisionCommand(context, 'discard', 'Keeps', 'Kept'));
}

const listCommand = (context: Context): Command =>
  createListCommand(context, {
    description: 'Prints each push service with held deletions, how many there are, and since when.',
    examples: ['deskbell held-deletions list', 'deskbell held-deletions list --json'],
    rowsOf: ({ store }) => store.heldDeletions.list(),
    toJson: heldDeletionView.toJson,
    toText: ({ origin, subscriptions, sinceMs }) =>
      `${origin}  ${formatCount(subscriptions)} since ${isoTime(sinceMs)}`,
    ifEmpty: 'No deletions are held.',
  });

function decisionCommand(
  { environment, output }: Context,
  name: 'confirm' | 'discard',
  does: string,
  done: string,
): Command {
  return createDataCommand(environment, {
    name,
    description: `${does} the held subscriptions of a push service.`,
    json: 'Prints JSON.',
    examples: [`deskbell held-deletions ${name} https://fcm.googleapis.com`],
  })
    .argument('<origin>', 'Push service as `deskbell held-deletions list` shows it.', parseOrigin)
    .onData(async ({ store }, origin: string, flags: JsonFlag) => {
      const subscriptions = requireHeldDeletions(await store.heldDeletions[name](origin), origin);
      const text = `${done} ${countOf(subscriptions, 'subscription')} of ${origin}`;
      await output.result(flags, { origin, subscriptions }, text);
    });
}
