// `deskbell backup` writes a data directory to one file while it is in use. `deskbell restore` reads such a file.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf, formatBytes } from '../../errors/format-count.ts';
import { type Context, createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { noteBackup } from '../data/noted-facts.ts';
import { requireData } from '../data/open-data.ts';
import { createCommandHint } from '../output/command-hint.ts';
import { formatError } from '../output/failure.ts';
import { formatResumption, resumptionToJson } from '../output/format-resumption.ts';
import type { JsonFlag } from '../output/output.ts';

/** @throws {DeskbellError} ERR_CONFIGURATION if the data is in PostgreSQL */
function requireSqlite(database: string | undefined, tool: 'pg_dump' | 'pg_restore'): void {
  if (database === undefined) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `This command is for the SQLite file of a data directory, and "database" is set. Use ${tool} for PostgreSQL, and copy ` +
      'the key files of the data directory',
  );
}

export function backupCommand({ environment, output, stop }: Context): Command {
  return createCommand({
    name: 'backup',
    description:
      'Writes the data directory into one file while services and workers keep running. The file contains the state at ' +
      'the start of the command. Only the owner of the file can read it, since it contains everything that is needed ' +
      'to send to your subscribers, except the keys. With --with-keys, the file contains the keys too.',
    settings: dataSettings,
    json: 'Prints JSON.',
    examples: [
      'deskbell backup /backup/deskbell-2027-01-01',
      'deskbell backup --with-keys /backup/deskbell-2027-01-01 --data /var/lib/deskbell',
    ],
  })
    .argument('<file>', 'File to write; it must not exist.')
    .option(
      '--with-keys',
      'Includes the private keys. Without this option, keep a copy of the key files elsewhere.',
    )
    .action(async (file: string, flags: JsonFlag & { readonly withKeys?: true }) => {
      const { data, database } = await readConfiguration({ flags, environment });
      requireSqlite(database, 'pg_dump');
      await requireData(data);
      const { backUp } = await import('../data/backup-file.ts');
      const withKeys = flags.withKeys ?? false;
      const bytes = await backUp(data, file, { withKeys, stop });
      await noteBackup(data, Date.now()).catch((error: unknown) =>
        output.diagnostic(
          `The time of this backup was not stored, so metrics do not show it. ${formatError(error)}`,
        ),
      );
      const text = `${file} holds ${data}, ${withKeys ? 'with' : 'without'} keys: ${formatBytes(bytes)}.`;
      await output.result(flags, { file, bytes, withKeys }, text);
    });
}

export function restoreCommand(context: Context): Command {
  const { environment, output, stop } = context;
  return createCommand({
    name: 'restore',
    description:
      'Restores a backup into a data directory. The directory must not contain a database yet. If the backup has no ' +
      'keys, first put the key files into the directory. The restored store sends nothing by itself until you run ' +
      '"deskbell sending resume". The bells of the restored store still ring.',
    settings: dataSettings,
    json: 'Prints JSON.',
    examples: ['deskbell restore /backup/deskbell-2027-01-01 --data /var/lib/deskbell'],
  })
    .argument('<file>', 'File that "deskbell backup" wrote.')
    .action(async (file: string, flags: JsonFlag) => {
      const { data, database } = await readConfiguration({ flags, environment });
      requireSqlite(database, 'pg_restore');
      const { restore } = await import('../data/backup-file.ts');
      const { subscriptions, resumption } = await restore(file, data, stop);
      const paused = resumption.broadcastIds;
      const restored = { data, subscriptions, paused, sending: resumptionToJson(resumption) };
      const text = `${data} is restored with ${countOf(subscriptions, 'subscription')}.`;
      await output.result(flags, restored, text);
      if (flags.json) return;
      output.diagnostic(
        'It sends nothing by itself: neither broadcasts nor schedules nor webhook events. Bells still ring.',
      );
      output.diagnostic(formatResumption(resumption, createCommandHint(context, flags)));
    });
}
