// `deskbell broadcasts list`: one line per broadcast, newest first.
import type { Command } from 'commander';
import type { Broadcast } from '../../store/broadcasts.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import {
  broadcastToJson,
  countNames,
  formatCount,
  stateOf,
  type CountName,
} from '../../delivery/broadcast/format-broadcast.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { dataSettings, withNamedData } from '../data/open-data.ts';

const defaultLimit = 20;

export function listCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'list',
    description: 'Prints ID, state, audience and counts of each broadcast, newest first.',
    settings: [...dataSettings],
    examples: ['deskbell broadcasts list', 'deskbell broadcasts list --json | jq .counts'],
  })
    .option('--limit <count>', 'Maximum rows.', parsePositiveInteger, defaultLimit)
    .option('--json', 'Prints JSON Lines.')
    .action(async (flags: { readonly limit: number; readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const broadcasts = await store.broadcasts.list({ limit: flags.limit });
        if (flags.json) {
          for (const broadcast of broadcasts) await output.line(JSON.stringify(broadcastToJson(broadcast)));
        } else if (broadcasts.length === 0) output.diagnostic('No broadcasts yet.');
        else {
          const shown = countNames.filter(
            (name) => isAlwaysShown(name) || broadcasts.some(({ counts }) => counts[name] > 0),
          );
          const names = ['audience', ...shown, 'alarms'].map((name) => name.toUpperCase());
          await output.line(output.style('dim', columns('ID', 'STATE', 'START', ...names)));
          for (const broadcast of broadcasts) await output.line(formatColumns(broadcast, shown));
        }
      });
    });
}

/** Every count has its column where one of the broadcasts has some. */
const isAlwaysShown = (name: CountName): boolean => ['accepted', 'rejected', 'pending'].includes(name);

function formatColumns(broadcast: Broadcast, shown: readonly CountName[]): string {
  const { id, startAtMs, audience, counts, alarms } = broadcast;
  return columns(
    String(id),
    stateOf(broadcast),
    new Date(startAtMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...[audience, ...shown.map((name) => counts[name]), alarms.length].map(formatCount),
  );
}

function columns(id: string, state: string, start: string, ...numbers: readonly string[]): string {
  const cells = numbers.map((number) => number.padStart(11)).join('');
  return `${id.padStart(6)}  ${state.padEnd(9)}  ${start.padEnd(20)}${cells}`.trimEnd();
}
