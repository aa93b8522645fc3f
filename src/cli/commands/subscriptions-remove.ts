// `deskbell subscriptions remove`: removes subscriptions by their IDs, or a person with every trace.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { checkUser } from '../../audience/user-and-tags.ts';
import type { RemovedPerson } from '../../store/people.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data/open-data.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { JsonFlag } from '../output/output.ts';

export function removeCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'remove',
    description:
      'Removes subscriptions. A browser registers again when its page is next opened. With --user, removes all data of a ' +
      'person from the database, including what came of broadcasts to them, and prints what was removed. Backups and logs remain.',
    settings: dataSettings,
    json: 'Prints JSON Lines.',
    examples: ['deskbell subscriptions remove 17 18 19', 'deskbell subscriptions remove --user 42'],
  })
    .argument('[id...]', 'IDs as `deskbell subscriptions list` shows them.', parseId)
    .option('--user <id>', 'Removes this person.')
    .action(async (ids: readonly number[], flags: RemoveFlags) => {
      const user = flags.user === undefined ? undefined : checkUser(flags.user, '/user');
      if ((user === undefined) === (ids.length === 0)) {
        throw new DeskbellError('ERR_USAGE', 'Give the IDs of subscriptions, or --user');
      }
      const configuration = await readConfiguration({ flags, environment });
      await withExistingData(configuration, async ({ store }) => {
        if (user !== undefined) {
          const removed = await store.people.remove(user);
          return output.result(flags, { user, ...removed }, formatRemoved(removed));
        }
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

interface RemoveFlags extends JsonFlag {
  readonly user?: string;
}

export function formatRemoved({
  subscriptions,
  ended,
  broadcasts,
  schedules,
  recipients,
  attempts,
  receipts,
}: RemovedPerson): string {
  const counts = [
    [subscriptions, 'subscription', ''],
    [ended, 'subscription', ' that had ended'],
    [attempts, 'attempt', ''],
    [receipts, 'receipt', ''],
    [recipients, 'place', ' in lists of recipients'],
    [broadcasts, 'broadcast', ' to this person alone'],
    [schedules, 'schedule', ' for this person alone'],
  ] as const;
  const lines = counts.map(
    ([count, one, rest]) => `${String(count).padStart(8)}  ${one}${count === 1 ? '' : 's'}${rest}`,
  );
  return `Removed:\n${lines.join('\n')}\nBackups of the database, exported files and logs may still name the person.`;
}

/** Commander passes the earlier values of a variadic argument. */
function parseId(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, parsePositiveInteger(text)];
}
