// `deskbell backup`: writes the data directory into one file, while it is in use.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import { storeLastBackup } from '../data/last-backup.ts';
import { requireSqlite } from '../data/require-sqlite.ts';
import { requireData } from '../data/open-data.ts';
import { formatBytes } from '../output/format-bytes.ts';
import { formatError } from '../output/failure.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';

interface BackupFlags {
  readonly withKeys?: true;
  readonly json?: true;
}

export function backupCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'backup',
    description:
      'Writes the data directory into one file, while services and workers continue. The file has the state at the start of the ' +
      'command. Only its owner can read it, since it contains everything that is needed to send to the subscribers ' +
      'except the keys, and with --with-keys these too.',
    settings: dataSettings,
    json: 'Prints JSON.',
    examples: [
      'deskbell backup /backup/deskbell-2027-01-01',
      'deskbell backup --with-keys /backup/deskbell-2027-01-01 --data /var/lib/deskbell',
    ],
  })
    .argument('<file>', 'File to write; it must not exist.')
    .option('--with-keys', 'Includes the private keys. Without them, keep the key files elsewhere.')
    .action(async (file: string, flags: BackupFlags) => {
      const { data, database } = await readConfiguration({ flags, environment });
      requireSqlite(database, 'pg_dump');
      await requireData(data);
      const { backUp } = await import('../data/back-up.ts');
      const withKeys = flags.withKeys ?? false;
      const bytes = await backUp(data, file, { withKeys });
      await storeLastBackup(data, Date.now()).catch((error: unknown) =>
        output.diagnostic(
          `The time of this backup was not stored, so metrics do not show it. ${formatError(error)}`,
        ),
      );
      const text = `${file} holds ${data}, ${withKeys ? 'with' : 'without'} keys: ${formatBytes(bytes)}.`;
      await output.result(flags, { file, bytes, withKeys }, text);
    });
}
