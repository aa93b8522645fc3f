// `deskbell broadcasts resume`: goes on with a broadcast that was paused or whose process has died.
import type { Command } from 'commander';
import { parsePositiveInteger } from '../arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data.ts';
import { broadcastSettings, openSender } from '../open-sender.ts';
import { readConfiguration } from '../read-configuration.ts';
import { runBroadcast } from '../run-broadcast.ts';

export function resumeCommand(context: Context): Command {
  return createCommand({
    name: 'resume',
    description:
      'Goes on with a broadcast that was paused or whose process has died, and prints how it does.',
    settings: ['data', ...broadcastSettings],
    examples: ['deskbell broadcasts resume 7'],
  })
    .argument('<id>', 'Which broadcast.', parsePositiveInteger)
    .option('--json', 'Prints JSON Lines: events, and at the end the summary.')
    .action(async (id: number, flags: { readonly json?: true }) => {
      const configuration = await readConfiguration({
        flags: { ...flags },
        environment: context.environment,
      });
      await withExistingData(configuration.data, async ({ store, vapidKeys }) => {
        const sender = await openSender(configuration, vapidKeys, context, store);
        try {
          const run = await sender.resume(id);
          await runBroadcast(run, store.broadcasts, context, { json: flags.json ?? false });
        } finally {
          await sender.close();
        }
      });
    });
}
