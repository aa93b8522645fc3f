// `deskbell broadcasts list`: one line per broadcast, newest first.
import type { Command } from 'commander';
import type { Broadcast } from '../../store/broadcasts.ts';
import { parsePositiveInteger } from '../arguments.ts';
import { broadcastToJson, formatCount, stateOf } from '../../delivery/format-broadcast.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { dataSettings, withNamedData } from '../data.ts';

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
        if (broadcasts.length === 0 && !flags.json) output.diagnostic('No broadcasts yet.');
        else if (!flags.json) await output.line(output.style('dim', heading));
        for (const broadcast of broadcasts) {
          await output.line(
            flags.json ? JSON.stringify(broadcastToJson(broadcast)) : formatColumns(broadcast),
          );
        }
      });
    });
}

const heading = columns('ID', 'STATE', 'START', 'AUDIENCE', 'ACCEPTED', 'REJECTED', 'PENDING', 'ALARMS');

function formatColumns(broadcast: Broadcast): string {
  const { id, startAtMs, audience, counts, alarms } = broadcast;
  return columns(
    String(id),
    stateOf(broadcast),
    new Date(startAtMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    formatCount(audience),
    formatCount(counts.accepted),
    formatCount(counts.rejected),
    formatCount(counts.pending),
    formatCount(alarms.length),
  );
}

function columns(id: string, state: string, start: string, ...numbers: readonly string[]): string {
  const cells = numbers.map((number) => number.padStart(11)).join('');
  return `${id.padStart(6)}  ${state.padEnd(9)}  ${start.padEnd(20)}${cells}`.trimEnd();
}
