// `deskbell subscriptions export`: every subscription as one line of JSON, with all that sending to it needs.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { createDataCommand } from '../data/data-command.ts';
import { formatLine } from '../input/subscription-line.ts';
import { subscriptionPages } from '../input/subscription-pages.ts';

export function exportCommand({ environment, output, stopPrinting }: Context): Command {
  return createDataCommand(environment, {
    name: 'export',
    description:
      'Prints every subscription as JSON Lines, in the form that browsers and other web push tools use. ' +
      'Language, time zone and choices are those that hold for its reader. The lines are secrets: with the private key, they are enough to send to these browsers.',
    examples: ['(umask 077; deskbell subscriptions export > subscriptions.jsonl)'],
  }).onData(async ({ store }) => {
    for await (const page of subscriptionPages(store.subscriptions, stopPrinting)) {
      const facts = await store.readers.factsOf(page);
      await output.line(page.map((row) => formatLine(row, facts.get(row.id))).join('\n'));
    }
  });
}
