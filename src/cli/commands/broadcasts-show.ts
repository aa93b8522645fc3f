// `deskbell broadcasts show`: all that is known of one broadcast, and of single attempts where they are asked for.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { AttemptRecord } from '../../store/broadcast-store.ts';
import { parsePositiveInteger } from '../arguments.ts';
import { describeOutcome, stateOf, toJson } from '../broadcast-words.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data.ts';
import { readConfiguration } from '../read-configuration.ts';

interface ShowFlags {
  readonly attempts?: true;
  readonly subscription?: number;
  readonly limit: number;
  readonly json?: true;
}

export function showCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'show',
    description:
      'Prints counts, push services and alarms of a broadcast. The log of attempts is bounded: it keeps the first ' +
      'thousand acceptances and ten thousand other outcomes of each of the newest hundred broadcasts.',
    settings: ['data'],
    examples: ['deskbell broadcasts show 7', 'deskbell broadcasts show 7 --attempts --subscription 4711'],
  })
    .argument('<id>', 'Which broadcast.', parsePositiveInteger)
    .option('--attempts', 'Prints attempts as well, the newest first.')
    .option('--subscription <id>', 'Attempts to this subscription only.', parsePositiveInteger)
    .option('--limit <count>', 'So many attempts at most.', parsePositiveInteger, 100)
    .option('--json', 'Prints JSON Lines.')
    .action(async (id: number, flags: ShowFlags) => {
      const { data } = await readConfiguration({ flags: { ...flags }, environment });
      await withExistingData(data, async ({ store }) => {
        const broadcast = await store.broadcasts.find(id);
        if (broadcast === undefined) {
          throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}`);
        }
        if (flags.json) await output.line(JSON.stringify(toJson(broadcast)));
        else {
          const since = new Date(broadcast.createdAtMs).toISOString();
          await output.line(
            `Broadcast ${id} is ${output.style('bold', stateOf(broadcast))}, created ${since}:`,
          );
          for (const line of describeOutcome(broadcast, output)) await output.line(line);
        }
        if (!flags.attempts && flags.subscription === undefined) return;
        const records = await store.broadcasts.attempts({
          broadcastId: id,
          ...(flags.subscription !== undefined && { subscriptionId: flags.subscription }),
          limit: flags.limit,
        });
        if (!flags.json) await output.line('');
        for (const record of records) {
          await output.line(flags.json ? JSON.stringify(toJsonRecord(record)) : describe(record));
        }
      });
    });
}

function toJsonRecord({ atMs, ...record }: AttemptRecord): object {
  return { at: new Date(atMs).toISOString(), ...record };
}

function describe({
  atMs,
  subscriptionId,
  origin,
  attempt,
  outcome,
  status,
  reason,
  detail,
}: AttemptRecord): string {
  const words = [outcome.padEnd(8), origin, status, reason, detail].filter((word) => word !== undefined);
  const who = subscriptionId === undefined ? 'not stored' : String(subscriptionId);
  return `  ${new Date(atMs).toISOString()}  ${who.padStart(10)}  #${attempt}  ${words.join('  ')}`;
}
