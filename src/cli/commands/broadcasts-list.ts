// `deskbell broadcasts list`: one line per broadcast, newest first.
import type { Command } from 'commander';
import { cutText } from '../../errors/untrusted-text.ts';
import { formatCount } from '../../errors/format-count.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { isoTime, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { countNames, type CountName } from '../../delivery/broadcast/count-meanings.ts';
import { broadcastView } from '../../operations/broadcast.ts';
import { readPayloadTexts } from '../../protocol/message/read-payload.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import { inColumns, type Column, type JsonFlag } from '../output/output.ts';

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
      await output.table(flags, {
        rows,
        toJson: broadcastView.toJson,
        ...columnsOf(shown),
        ifEmpty: 'No broadcasts yet.',
      });
    });
}

/** Every count has its column where one of the broadcasts has some. */
const isAlwaysShown = (name: CountName): boolean => ['accepted', 'rejected', 'pending'].includes(name);

const numberColumn = (name: string, countOf: (broadcast: Broadcast) => number): Column<Broadcast> => [
  name.toUpperCase(),
  -10,
  (broadcast) => formatCount(countOf(broadcast)),
];

const columnsOf = (shown: readonly CountName[]) =>
  inColumns<Broadcast>([
    ['ID', -6, ({ id }) => String(id)],
    ['STATE', 9, stateOf],
    ['START', 20, ({ startAtMs }) => isoTime(startAtMs).replace(/\.\d+Z$/, 'Z')],
    numberColumn('recipients', ({ recipients }) => recipients),
    ...shown.map((name) => numberColumn(name, ({ counts }) => counts[name])),
    numberColumn('alarms', ({ alarms }) => alarms.length),
    ['TITLE', 0, ({ payload }) => cutText(readPayloadTexts(payload).title, maxTitle)],
  ]);
