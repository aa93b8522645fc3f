// `deskbell subscriptions`: lists, tags, removes, imports and exports subscriptions.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { exportCommand } from './subscriptions-export.ts';
import { importCommand } from './subscriptions-import.ts';
import { listCommand } from './subscriptions-list.ts';
import { removeCommand } from './subscriptions-remove.ts';
import { tagCommand, untagCommand } from './subscriptions-tag.ts';

export function subscriptionsCommand(context: Context): Command {
  return createCommand({
    name: 'subscriptions',
    description: 'Lists, tags, removes, imports and exports subscriptions.',
    examples: ['deskbell subscriptions list'],
  })
    .addCommand(listCommand(context))
    .addCommand(tagCommand(context))
    .addCommand(untagCommand(context))
    .addCommand(removeCommand(context))
    .addCommand(importCommand(context))
    .addCommand(exportCommand(context));
}
