// `deskbell broadcasts outcomes`: what came of each subscription, as CSV or JSON Lines.
import type { Command } from 'commander';
import { csvHeader, readOutcomes, toCsv } from '../../operations/outcomes-csv.ts';
import { rowOutcomeView } from '../../operations/row-outcome.ts';
import type { Context } from '../context.ts';
import { createDataCommand } from '../data/data-command.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import type { JsonFlag } from '../output/output.ts';

export function outcomesCommand({ environment, output, stopPrinting }: Context): Command {
  return createDataCommand(environment, {
    name: 'outcomes',
    description:
      'Prints what came of each subscription in a broadcast, as CSV: one line for each subscription of the audience that the ' +
      'store knows of. Endpoints and keys are not printed.',
    json: 'Prints JSON Lines, with every attempt.',
    examples: [
      'deskbell broadcasts outcomes 7 > outcomes.csv',
      'deskbell broadcasts outcomes 7 --json | jq .state',
    ],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .onData(async ({ store }, id: number, { json }: JsonFlag) => {
      await store.broadcasts.get(id);
      if (!json) await output.line(toLines(csvHeader));
      for await (const outcomes of readOutcomes(store.attempts, id)) {
        stopPrinting.throwIfAborted();
        const lines = json
          ? outcomes.map((outcome) => JSON.stringify(rowOutcomeView.toJson(outcome))).join('\n')
          : toLines(toCsv(outcomes));
        await output.line(lines);
      }
    });
}

/** As other output of commands ends its lines; what is in the fields has no line end. */
const toLines = (csv: string): string => csv.trimEnd().replaceAll('\r', '');
