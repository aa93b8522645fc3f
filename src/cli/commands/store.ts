// `deskbell store`: moves all data to another database.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { vapidFileName } from '../../keys/vapid-key-files.ts';
import type { Progress } from '../../store/copy/copy-database.ts';
import type { CopyState } from '../../store/copy/copy-store.ts';
import { type Context, createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { CopyLocation, CopyLocations } from '../data/copy-locations.ts';
import type { JsonFlag, Output } from '../output/output.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';

interface CopyFlags extends JsonFlag {
  readonly from?: string;
  readonly to?: string;
}

export function storeCommand(context: Context): Command {
  return createCommand({
    name: 'store',
    description: 'Moves the data to another database.',
    examples: ['deskbell store copy --from deskbell-data --to postgres://db.example.org/deskbell'],
  }).addCommand(copyCommand(context));
}

function copyCommand({ environment, output, stop }: Context): Command {
  return createCommand({
    name: 'copy',
    description:
      'Copies all data to an empty database: from SQLite to PostgreSQL, from PostgreSQL to SQLite, or to another ' +
      'database of the same kind. First stop all processes that use the source or the target. After the copy, ' +
      'workers that use the target send the remaining messages of unfinished broadcasts. At the end, the command ' +
      'compares the counts and checksums of all tables. The command does not change the source. After an ' +
      'interruption, run the same command to continue. Until the copy is complete, no other command can open the ' +
      'target. Key files are not copied.',
    settings: dataSettings,
    json: 'Prints JSON, with rows and checksum of each table.',
    examples: [
      'deskbell store copy --from deskbell-data --to postgres://deskbell@db.example.org/deskbell',
      'DESKBELL_DATABASE=postgres://… deskbell store copy --to deskbell-data',
    ],
  })
    .option('--from <place>', 'Data directory, or URL of a PostgreSQL database.')
    .option(
      '--to <place>',
      'Data directory, or URL of a PostgreSQL database. If you leave out --from or --to, the configuration gives it: ' +
        'the data directory or the database, whichever the other is not.',
    )
    .action(async ({ from, to, json, ...flags }: CopyFlags) => {
      const configuration = await readConfiguration({ flags, environment });
      const { readCopyLocations } = await import('../data/copy-locations.ts');
      const locations = readCopyLocations({ from, to }, configuration);
      const copied = await copy(locations, { output, stop });
      const names = { from: locations.from.label, to: locations.to.label };
      const tables = Object.entries(copied).map(([name, tally]) => ({ name, ...tally }));
      await output.result({ json }, { ...names, tables }, formatResult(names, copied));
      for (const note of notesOn(locations.to, copied)) output.diagnostic(note);
    });
}

async function copy(
  locations: CopyLocations,
  { output, stop }: Pick<Context, 'output' | 'stop'>,
): Promise<Progress> {
  const { openCopySource, openCopyTarget } = await import('../data/copy-locations.ts');
  const { copyStore } = await import('../../store/copy/copy-store.ts');
  await using opened = new AsyncDisposableStack();
  const from = opened.adopt(await openCopySource(locations.from), (source) => source.close());
  const to = opened.adopt(await openCopyTarget(locations.to), (target) => target.close());
  opened.defer(() => output.live(''));
  return await copyStore({ from, to, onProgress: createReport(output), signal: stop });
}

const redrawEveryMs = 100;
const lineEveryMs = 10_000;

/**
 * Creates a function that reports the progress of a copy. On a terminal, one line is redrawn; otherwise, a new line is
 * printed every ten seconds.
 */
function createReport(output: Output): (state: CopyState) => void {
  const everyMs = output.isTerminal ? redrawEveryMs : lineEveryMs;
  let lastMs = performance.now();
  return ({ step, table, rows, total }) => {
    const nowMs = performance.now();
    if (nowMs - lastMs < everyMs) return;
    lastMs = nowMs;
    const text = `${step} ${table}: ${formatCount(rows)} of ${formatCount(total)} rows`;
    if (output.isTerminal) output.live(text);
    else output.diagnostic(text);
  };
}

function formatResult({ from, to }: Record<'from' | 'to', string>, copied: Progress): string {
  const rows = Object.values(copied).reduce((sum, tally) => sum + tally.rows, 0);
  const subscriptions = copied['subscriptions']?.rows ?? 0;
  return (
    `Copied ${countOf(subscriptions, 'subscription')}, ${formatCount(rows)} rows in all, from ${from} to ${to}. ` +
    'Counts and checksums of all tables are the same.'
  );
}

function notesOn({ kind, text }: CopyLocation, copied: Progress): readonly string[] {
  const notes = [];
  if (kind === 'directory' && !existsSync(join(text, vapidFileName))) {
    notes.push(
      `The data directory ${text} has no ${vapidFileName}: copy all key files of the former data directory into it.`,
    );
  }
  const unfinished = ['slices', 'retries', 'preparations', 'schedules'].some(
    (name) => (copied[name]?.rows ?? 0) > 0,
  );
  if (unfinished) {
    notes.push(
      'Do not use the source any more: both would send what is not over, and what recurs. "deskbell sending pause" on it ' +
        'makes sure.',
    );
  }
  return notes;
}
