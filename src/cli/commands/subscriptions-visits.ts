// `deskbell subscriptions visits`: how many browsers were here lately, by push service.
import type { Command } from 'commander';
import { createListCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import { inColumns } from '../output/output.ts';
import type { PushServiceVisits } from '../../store/visits.ts';

const visitColumns = inColumns<PushServiceVisits>([
  ['7 DAYS', -10, ({ visits }) => String(visits.within7Days)],
  ['30 DAYS', -10, ({ visits }) => String(visits.within30Days)],
  ['90 DAYS', -10, ({ visits }) => String(visits.within90Days)],
  ['LONGER AGO', -10, ({ visits }) => String(visits.longerAgo)],
  ['NOT SINCE IMPORT', -16, ({ visits }) => String(visits.notSinceImport)],
  ['PUSH SERVICE', 0, ({ pushService }) => pushService],
]);

export const visitsCommand = (context: Context): Command =>
  createListCommand(context, {
    name: 'visits',
    description:
      'Counts the subscriptions of each push service by the last visit of their browser, which is the last page load with ' +
      "Deskbell's client. It shows how far a move from another service is: imported subscriptions count apart until their " +
      'browser has been here.',
    examples: ['deskbell subscriptions visits', 'deskbell subscriptions visits --json'],
    rowsOf: ({ store }) => store.visits.count(),
    ...visitColumns,
    toJson: ({ pushService, visits }) => ({ pushService, ...visits }),
    ifEmpty: 'No subscriptions yet.',
  });
