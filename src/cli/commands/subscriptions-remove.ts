// `deskbell subscriptions remove`: removes subscriptions by ID or push service, or all data of a person.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { checkUser } from '../../audience/user-and-tags.ts';
import { countOf } from '../../errors/format-count.ts';
import { removePerson } from '../../operations/people.ts';
import { removePushService, removeSubscription } from '../../operations/subscriptions.ts';
import type { RemovedPerson } from '../../store/remove-person.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { type Context, createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import { perform } from '../data/data-command.ts';
import { withExistingData } from '../data/open-data.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { JsonFlag } from '../output/output.ts';

export function removeCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'remove',
    description:
      'Removes subscriptions. A browser registers again when its page is next opened. With --user, removes all data of a ' +
      'person from the database, including what came of broadcasts to them, and prints what was removed. Backups and logs remain. ' +
      'With --push-service, removes all subscriptions of a host, such as one that a stranger has named, and its place among ' +
      'unlisted push services.',
    settings: dataSettings,
    json: 'Prints JSON Lines.',
    examples: [
      'deskbell subscriptions remove 17 18 19',
      'deskbell subscriptions remove --user 42',
      'deskbell subscriptions remove --push-service up.example.net',
    ],
  })
    .argument('[id...]', 'IDs as `deskbell subscriptions list` shows them.', parseId)
    .option('--user <id>', 'Removes this person.')
    .option(
      '--push-service <host>',
      'Removes all subscriptions of this push service: a host, with its port if it has one, or an origin.',
    )
    .action(async (ids: readonly number[], flags: RemoveFlags) => {
      const user = flags.user === undefined ? undefined : checkUser(flags.user, '/user');
      const origin = flags.pushService === undefined ? undefined : readOrigin(flags.pushService);
      if ([user, origin, ids[0]].filter((given) => given !== undefined).length !== 1) {
        throw new DeskbellError('ERR_USAGE', 'Give the IDs of subscriptions, --user or --push-service');
      }
      const configuration = await readConfiguration({ flags, environment });
      await withExistingData(configuration, async (data) => {
        if (user !== undefined) {
          const removed = await perform(data, removePerson, { user });
          return output.result(
            flags,
            { user, ...removed },
            `${formatRemoved(removed)}\nReceipt: ${removed.removalReceipt}. Keep it with the person's name: "deskbell people removal ID --receipt …" checks it.`,
          );
        }
        if (origin !== undefined) {
          const removed = await perform(data, removePushService, { origin });
          return output.result(
            flags,
            { pushService: origin, removed },
            `Removed ${countOf(removed, 'subscription')} of ${origin}`,
          );
        }
        const missing: number[] = [];
        for (const id of ids) {
          const isRemoved = await perform(data, removeSubscription, { id }).then(
            () => true,
            (error: unknown) => {
              if (error instanceof DeskbellError && error.code === 'ERR_SUBSCRIPTION_NOT_FOUND') return false;
              throw error;
            },
          );
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
  readonly pushService?: string;
}

/** @throws {DeskbellError} ERR_USAGE */
function readOrigin(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `https://${text}`);
  if (url !== null && url.pathname === '/' && url.search === '' && url.username === '') return url.origin;
  throw new DeskbellError('ERR_USAGE', '--push-service takes a host such as up.example.net, or an origin');
}

export function formatRemoved({
  subscriptions,
  ended,
  broadcasts,
  schedules,
  bells,
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
    [bells, 'bell', ' for this person alone'],
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
