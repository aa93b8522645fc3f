// `deskbell subscriptions remove`: removes subscriptions by their IDs.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { parsePositiveInteger } from '../arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withNamedData } from '../data.ts';

export function removeCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'remove',
    description: 'Removes subscriptions. A browser registers again when its page is next opened.',
    settings: ['data'],
    examples: ['deskbell subscriptions remove 17', 'deskbell subscriptions remove 17 18 19'],
  })
    .argument('<id...>', 'IDs as `deskbell subscriptions list` shows them.', parseId)
    .option('--json', 'Prints JSON Lines.')
    .action(async (ids: readonly number[], flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const missing: number[] = [];
        for (const id of ids) {
          const isRemoved = await store.subscriptions.removeById(id);
          if (!isRemoved) missing.push(id);
          if (flags.json) await output.line(JSON.stringify({ id, removed: isRemoved }));
          else if (isRemoved) await output.line(`Removed ${id}`);
        }
        if (missing.length > 0) {
          throw new DeskbellError(
            'ERR_SUBSCRIPTION_NOT_FOUND',
            `There is no subscription ${missing.join(', ')}`,
          );
        }
      });
    });
}

/** Commander passes the earlier values of a variadic argument. */
function parseId(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, parsePositiveInteger(text)];
}
