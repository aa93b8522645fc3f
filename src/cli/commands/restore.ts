// `deskbell restore`: makes a data directory of a backup.
import type { Command } from 'commander';
import { createCommandHint } from '../output/command-hint.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { refuseDatabase } from '../data/refuse-database.ts';
import { dataSettings } from '../data/with-data.ts';
import { formatCount } from '../../delivery/broadcast/format-broadcast.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';

export function restoreCommand(context: Context): Command {
  const { environment, output } = context;
  return createCommand({
    name: 'restore',
    description:
      'Restores a backup into a data directory. The directory must have no database yet; where the backup has no keys, put ' +
      'the key files there first. Broadcasts that were running at the time of the backup are paused.',
    settings: [...dataSettings],
    examples: ['deskbell restore /backup/deskbell-2027-01-01 --data /var/lib/deskbell'],
  })
    .argument('<file>', 'File that "deskbell backup" wrote.')
    .option('--json', 'Prints JSON.')
    .action(async (file: string, flags: { readonly json?: true }) => {
      const { data, database } = await readConfiguration({ flags: { ...flags }, environment });
      refuseDatabase(database, 'pg_restore');
      const { restore } = await import('../data/back-up.ts');
      const restored = await restore(file, data);
      if (flags.json) return output.line(JSON.stringify({ data, ...restored }));
      const { subscriptions, paused } = restored;
      await output.line(`${data} is restored with ${formatCount(subscriptions)} subscriptions.`);
      if (paused.length === 0) return;
      const hint = createCommandHint(context, { ...flags });
      output.diagnostic(
        'These broadcasts were running, and are paused. Resumed, one sends again what was sent after the backup:\n' +
          paused.map((id) => `  ${hint(`broadcasts resume ${id}`)}`).join('\n'),
      );
    });
}
