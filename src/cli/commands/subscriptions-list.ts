// `deskbell subscriptions list`: one line per subscription, of all or of some people, without endpoint and keys.
import type { Command } from 'commander';
import { checkExpression } from '../../audience/user-and-tags.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { subscriptionView } from '../../operations/subscriptions.ts';
import type { Context } from '../context.ts';
import { createDataCommand } from '../data/data-command.ts';
import { inColumns, type JsonFlag } from '../output/output.ts';
import { addPeopleFlags, expressionOf, type PeopleFlags } from '../flags/people-flags.ts';
import { subscriptionPages } from '../input/subscription-pages.ts';

export function listCommand({ environment, output, stopPrinting }: Context): Command {
  const command = createDataCommand(environment, {
    name: 'list',
    description:
      'Prints ID, times, push service, user and tags of each subscription. Endpoints and keys are not shown.',
    json: 'Prints JSON Lines.',
    examples: [
      'deskbell subscriptions list',
      'deskbell subscriptions list --user 42',
      'deskbell subscriptions list --tag beta --not-tag de --json | jq .pushService',
    ],
  });
  return addPeopleFlags(command, 'Lists').onData(async ({ store }, flags: PeopleFlags & JsonFlag) => {
    const expression = expressionOf(flags);
    const matching = expression && checkExpression(expression);
    await output.table(flags, {
      rows: rowsOf(subscriptionPages(store.subscriptions, stopPrinting, matching)),
      toJson: subscriptionView.toJson,
      ...columns,
      ifEmpty: matching ? 'No such subscriptions.' : 'No subscriptions yet.',
    });
  });
}

async function* rowsOf<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const page of pages) yield* page;
}

const toTime = (timeMs: number): string => isoTime(timeMs).replace(/\.\d+Z$/, 'Z');

const columns = inColumns<StoredSubscription>([
  ['ID', -8, ({ id }) => String(id)],
  ['REGISTERED', 20, ({ createdAtMs }) => toTime(createdAtMs)],
  ['RENEWED', 20, ({ updatedAtMs }) => toTime(updatedAtMs)],
  ['PUSH SERVICE', 40, ({ endpoint }) => new URL(endpoint).origin],
  ['USER', 12, ({ user = '-' }) => user],
  ['TAGS', 0, ({ tags }) => tags.join(',')],
]);
