// `deskbell subscriptions list`: one line per subscription, of all or of some people, without endpoint and keys.
import type { Command } from 'commander';
import { checkExpression } from '../../audience/user-and-tags.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { subscriptionView } from '../../operations/subscriptions.ts';
import type { Context } from '../context.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { JsonFlag } from '../output/output.ts';
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
      toText: formatColumns,
      header: columns('ID', 'REGISTERED', 'RENEWED', 'PUSH SERVICE', 'USER', 'TAGS'),
      ifEmpty: matching ? 'No such subscriptions.' : 'No subscriptions yet.',
    });
  });
}

async function* rowsOf<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const page of pages) yield* page;
}

function formatColumns(row: StoredSubscription): string {
  return columns(
    String(row.id),
    formatTime(row.createdAtMs),
    formatTime(row.updatedAtMs),
    new URL(row.endpoint).origin,
    row.user ?? '-',
    row.tags.join(','),
  );
}

function columns(id: string, ...others: readonly string[]): string {
  const widths = [20, 20, 40, 12, 0];
  const padded = others.map((text, index) => text.padEnd(widths[index] ?? 0));
  return [id.padStart(8), ...padded].join('  ').trimEnd();
}

const formatTime = (timeMs: number): string => new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z');
