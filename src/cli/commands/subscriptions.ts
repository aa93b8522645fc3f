// `deskbell subscriptions`: lists, shows, counts, tags, removes, imports and exports subscriptions.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { exportCommand } from './subscriptions-export.ts';
import { importCommand } from './subscriptions-import.ts';
import { listCommand } from './subscriptions-list.ts';
import { removeCommand } from './subscriptions-remove.ts';
import { showCommand } from './subscriptions-show.ts';
import { tagCommand, untagCommand } from './subscriptions-tag.ts';
import { visitsCommand } from './subscriptions-visits.ts';

export function subscriptionsCommand(context: Context): Command {
  return createCommand({
    name: 'subscriptions',
    description: 'Lists, shows, counts, tags, removes, imports and exports subscriptions.',
    examples: ['deskbell subscriptions list', 'deskbell subscriptions show --user 42 --broadcast 7'],
  })
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(visitsCommand(context))
    .addCommand(tagCommand(context))
    .addCommand(untagCommand(context))
    .addCommand(removeCommand(context))
    .addCommand(importCommand(context))
    .addCommand(exportCommand(context));
}
