// `deskbell broadcasts resume`: delivers a broadcast that was paused or whose process ended.
import type { Command } from 'commander';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { createCommandHint } from '../output/command-hint.ts';
import { createCommand } from '../command.ts';
import { dataSettings, senderSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { audited, processUser } from '../data/operation-command.ts';
import { withExistingData } from '../data/open-data.ts';
import { compileForDelivery } from '../send/compile-for-delivery.ts';
import { openSender } from '../send/open-sender.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { runBroadcast } from '../send/run-broadcast.ts';

export function resumeCommand(context: Context): Command {
  return createCommand({
    name: 'resume',
    description:
      'Resumes a broadcast. Continues one that was paused or whose process ended, and shows its progress.',
    settings: [...dataSettings, ...senderSettings],
    json: 'Prints JSON Lines: events, then the summary.',
    examples: ['deskbell broadcasts resume 7 --subject mailto:you@example.org'],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .action(async (id: number, flags: JsonFlag) => {
      const configuration = await readConfiguration({ flags, environment: context.environment });
      await withExistingData(configuration, async (data) => {
        compileForDelivery();
        const sender = await openSender(configuration, data, context, { json: flags.json });
        try {
          const change = { operator: processUser(), action: 'broadcast.resume', target: `broadcast ${id}` };
          const run = await audited(data.store, change, () => sender.resume(id));
          await runBroadcast(run, data.store, context, {
            json: flags.json ?? false,
            hint: createCommandHint(context, flags),
          });
        } finally {
          await sender.close();
        }
      });
    });
}
