// `deskbell subscriptions list`: one line per subscription, of all or of some people, without endpoint and keys.
import type { Command } from 'commander';
import { checkExpression } from '../../audience/user-and-tags.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { subscriptionView } from '../../views/subscription.ts';
import { createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { withNamedData } from '../data/open-data.ts';
import { addPeopleFlags, expressionOf, type PeopleFlags } from '../flags/people-flags.ts';
import { subscriptionPages } from '../input/subscription-pages.ts';

export function listCommand({ environment, output, stop }: Context): Command {
  const command = createCommand({
    name: 'list',
    description:
      'Prints ID, times, push service, user and tags of each subscription. Endpoints and keys are not shown.',
    settings: dataSettings,
    json: 'Prints JSON Lines.',
    examples: [
      'deskbell subscriptions list',
      'deskbell subscriptions list --user 42',
      'deskbell subscriptions list --tag beta --not-tag de --json | jq .pushService',
    ],
  });
  return addPeopleFlags(command, 'Lists').action(async (flags: PeopleFlags & JsonFlag) => {
    const expression = expressionOf(flags);
    const matching = expression && checkExpression(expression);
    await withNamedData(flags, environment, async ({ store }) => {
      const format = flags.json ? toJsonLine : formatColumns;
      let count = 0;
      for await (const page of subscriptionPages(store.subscriptions, stop, matching)) {
        if (count === 0 && !flags.json) {
          await output.line(
            output.style('dim', columns('ID', 'REGISTERED', 'RENEWED', 'PUSH SERVICE', 'USER', 'TAGS')),
          );
        }
        count += page.length;
        await output.line(page.map(format).join('\n'));
      }
      if (count === 0 && !flags.json)
        output.diagnostic(matching ? 'No such subscriptions.' : 'No subscriptions yet.');
    });
  });
}

const toJsonLine = (row: StoredSubscription): string => JSON.stringify(subscriptionView.toJson(row));
const pushServiceOf = ({ endpoint }: StoredSubscription): string => new URL(endpoint).origin;

function formatColumns(row: StoredSubscription): string {
  return columns(
    String(row.id),
    formatTime(row.createdAtMs),
    formatTime(row.updatedAtMs),
    pushServiceOf(row),
    row.user ?? '-',
    row.tags.join(','),
  );
}

function columns(...texts: readonly [id: string, ...others: string[]]): string {
  const [id, createdAt = '', updatedAt = '', pushService = '', user = '', tags = ''] = texts;
  const start = `${id.padStart(8)}  ${createdAt.padEnd(20)}  ${updatedAt.padEnd(20)}`;
  return `${start}  ${pushService.padEnd(40)}  ${user.padEnd(12)}  ${tags}`.trimEnd();
}

const formatTime = (timeMs: number): string => new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z');
