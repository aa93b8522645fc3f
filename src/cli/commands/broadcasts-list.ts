// `deskbell broadcasts list`: one line per broadcast, newest first.
import type { Command } from 'commander';
import { cutText } from '../../errors/cut-text.ts';
import { formatCount } from '../../errors/format-count.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { countNames, type CountName } from '../../delivery/broadcast/count-meanings.ts';
import { broadcastView } from '../../operations/broadcast.ts';
import { readPayloadTexts } from '../../protocol/message/read-payload.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

const defaultLimit = 20;
const maxTitle = 60;

interface ListFlags extends JsonFlag {
  readonly limit: number;
}

export function listCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'list',
    description:
      'Prints ID, state, recipients, counts and title of each broadcast, newest first. Its alarms are all that it has met, also those that are over.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell broadcasts list', 'deskbell broadcasts list --json | jq .counts'],
  })
    .option('--limit <count>', 'Maximum rows.', parsePositiveInteger, defaultLimit)
    .onData(async ({ store }, flags: ListFlags) => {
      const rows = await store.broadcasts.list({ limit: flags.limit });
      const shown = countNames.filter(
        (name) => isAlwaysShown(name) || rows.some(({ counts }) => counts[name] !== 0),
      );
      const names = ['recipients', ...shown, 'alarms'].map((name) => name.toUpperCase());
      await output.table(flags, {
        rows,
        toJson: broadcastView.toJson,
        toText: (broadcast) => formatColumns(broadcast, shown),
        header: `${columns('ID', 'STATE', 'START', ...names)}  TITLE`,
        ifEmpty: 'No broadcasts yet.',
      });
    });
}

/** Every count has its column where one of the broadcasts has some. */
const isAlwaysShown = (name: CountName): boolean => ['accepted', 'rejected', 'pending'].includes(name);

function formatColumns(broadcast: Broadcast, shown: readonly CountName[]): string {
  const { id, startAtMs, recipients, counts, alarms, payload } = broadcast;
  const cells = columns(
    String(id),
    stateOf(broadcast),
    new Date(startAtMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...[recipients, ...shown.map((name) => counts[name]), alarms.length].map(formatCount),
  );
  return `${cells}  ${cutText(readPayloadTexts(payload).title, maxTitle)}`.trimEnd();
}

function columns(id: string, state: string, start: string, ...numbers: readonly string[]): string {
  const cells = numbers.map((number) => number.padStart(11)).join('');
  return `${id.padStart(6)}  ${state.padEnd(9)}  ${start.padEnd(20)}${cells}`.trimEnd();
}
