// `deskbell subscriptions visits`: how many browsers were here lately, by push service.
import type { Command } from 'commander';
import { createListCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';

export const visitsCommand = (context: Context): Command =>
  createListCommand(context, {
    name: 'visits',
    description:
      'Counts the subscriptions of each push service by the last visit of their browser, which is the last page load with ' +
      "Deskbell's client. It shows how far a move from another service is: imported subscriptions count apart until their " +
      'browser has been here.',
    examples: ['deskbell subscriptions visits', 'deskbell subscriptions visits --json'],
    rowsOf: ({ store }) => store.visits.count(),
    header: columns('7 DAYS', '30 DAYS', '90 DAYS', 'LONGER AGO', 'NOT SINCE IMPORT', 'PUSH SERVICE'),
    toJson: ({ pushService, visits }) => ({ pushService, ...visits }),
    toText: ({
      pushService,
      visits: { within7Days, within30Days, within90Days, longerAgo, notSinceImport },
    }) => columns(within7Days, within30Days, within90Days, longerAgo, notSinceImport, pushService),
    ifEmpty: 'No subscriptions yet.',
  });

function columns(...cells: readonly (number | string)[]): string {
  const widths = [10, 10, 10, 10, 16];
  return cells.map((cell, index) => String(cell).padStart(widths[index] ?? 0)).join('  ');
}
