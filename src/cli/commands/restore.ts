// `deskbell restore`: makes a data directory of a backup.
import type { Command } from 'commander';
import { countOf } from '../../errors/format-count.ts';
import { createCommandHint } from '../output/command-hint.ts';
import { formatResumption, resumptionToJson } from '../output/format-resumption.ts';
import { createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { requireSqlite } from '../data/require-sqlite.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';

export function restoreCommand(context: Context): Command {
  const { environment, output } = context;
  return createCommand({
    name: 'restore',
    description:
      'Restores a backup into a data directory. The directory must not contain a database yet. If the backup has no keys, put ' +
      'the key files there first. The restored store sends nothing by itself until "deskbell sending resume".',
    settings: dataSettings,
    json: 'Prints JSON.',
    examples: ['deskbell restore /backup/deskbell-2027-01-01 --data /var/lib/deskbell'],
  })
    .argument('<file>', 'File that "deskbell backup" wrote.')
    .action(async (file: string, flags: JsonFlag) => {
      const { data, database } = await readConfiguration({ flags, environment });
      requireSqlite(database, 'pg_restore');
      const { restore } = await import('../data/restore.ts');
      const { subscriptions, resumption } = await restore(file, data);
      const paused = resumption.broadcastIds;
      const restored = { data, subscriptions, paused, sending: resumptionToJson(resumption) };
      const text = `${data} is restored with ${countOf(subscriptions, 'subscription')}.`;
      await output.result(flags, restored, text);
      if (flags.json) return;
      output.diagnostic('It sends nothing by itself: neither broadcasts nor schedules nor webhook events.');
      output.diagnostic(formatResumption(resumption, createCommandHint(context, flags)));
    });
}
