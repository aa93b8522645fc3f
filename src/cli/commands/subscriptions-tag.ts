// `deskbell subscriptions tag` and `untag`: add tags to subscriptions, or take them away.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import { checkExpression, checkTags } from '../../audience/user-and-tags.ts';
import type { Store } from '../../store/store.ts';
import { parseIds } from '../flags/arguments.ts';
import type { CommandDescription } from '../command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { createDataCommand } from '../data/data-command.ts';
import { audited, processUser } from '../data/operation-command.ts';
import { addPeopleFlags, expressionOf, parseTags, type PeopleFlags } from '../flags/people-flags.ts';
import { subscriptionPages } from '../input/subscription-pages.ts';

interface TagFlags extends PeopleFlags, JsonFlag {
  readonly ids?: readonly number[];
}

export const tagCommand = (context: Context): Command =>
  createTagCommand(context, 'Tags', 'add', {
    name: 'tag',
    description: 'Adds tags to subscriptions.',
    examples: ['deskbell subscriptions tag beta,de --user 42', 'deskbell subscriptions tag news --ids 17,18'],
  });

export const untagCommand = (context: Context): Command =>
  createTagCommand(context, 'Untags', 'remove', {
    name: 'untag',
    description: 'Removes tags from subscriptions.',
    examples: ['deskbell subscriptions untag beta --user 42', 'deskbell subscriptions untag beta --tag beta'],
  });

/** @param verb begins the description of each flag */
function createTagCommand(
  { environment, output, stop }: Context,
  verb: string,
  change: 'add' | 'remove',
  { name, ...description }: CommandDescription,
): Command {
  const command = createDataCommand(environment, {
    name,
    ...description,
    json: 'Prints {"subscriptions"}: how many there were.',
  }).argument('<tags>', 'Tags, separated by commas.', parseTags);
  return addPeopleFlags(command, verb, ['ids'])
    .option('--ids <ids>', `${verb} the subscriptions with these IDs, separated by commas.`, parseIds)
    .onData(async ({ store }, given: readonly string[], flags: TagFlags) => {
      const tags = checkTags(given, '/tags');
      const chosen = chosenBy(flags, store, stop);
      const record = {
        operator: processUser(),
        action: `subscriptions.${name}`,
        target: `tags ${tags.join(', ')}`,
      };
      const subscriptions = await audited(store, record, async () => {
        let changed = 0;
        for await (const page of chosen) {
          // what is asked for in one turn is committed together
          const found = await Promise.all(
            page.map(({ id }) => store.people.changeTags(id, { [change]: tags })),
          );
          changed += found.filter(Boolean).length;
        }
        return changed;
      });
      await output.result(flags, { subscriptions }, `Changed ${countOf(subscriptions, 'subscription')}.`);
      if (subscriptions === 0) {
        throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'There is no such subscription');
      }
    });
}

type Pages = AsyncIterable<readonly { readonly id: number }[]> | Iterable<readonly { readonly id: number }[]>;

/** @throws {DeskbellError} ERR_USAGE */
function chosenBy(flags: TagFlags, { subscriptions }: Store, stop: AbortSignal): Pages {
  const expression = expressionOf(flags);
  if (flags.ids !== undefined) return [flags.ids.map((id) => ({ id }))];
  if (expression === undefined) {
    throw new DeskbellError(
      'ERR_USAGE',
      'Choose the subscriptions: --user, --tag, --any-tag, --not-tag or --ids',
    );
  }
  return subscriptionPages(subscriptions, stop, checkExpression(expression));
}
