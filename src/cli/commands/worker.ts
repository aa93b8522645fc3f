// `deskbell worker`: delivers every broadcast of the store, those to come included, until it is told to stop.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { createCommand } from '../command.ts';
import { withExistingData } from '../data.ts';
import { broadcastSettings, openSender } from '../open-sender.ts';
import { readConfiguration } from '../read-configuration.ts';
import { watchBroadcasts } from '../watch-broadcasts.ts';
import { describeFailure } from '../failure.ts';

export function workerCommand(context: Context): Command {
  return createCommand({
    name: 'worker',
    description:
      'Delivers broadcasts that were stored with "send --detach" or "send --at", or whose process has died, and ' +
      'prints a line when one begins, raises an alarm, or ends. Any number of workers may run at once.',
    settings: ['data', ...broadcastSettings],
    examples: ['deskbell worker --subject mailto:you@your.domain', 'deskbell worker --threads 8 --json'],
  })
    .option('--json', 'Prints JSON Lines: events of broadcasts.')
    .action(async (flags: { readonly json?: true }) => {
      const configuration = await readConfiguration({
        flags: { ...flags },
        environment: context.environment,
      });
      const { output, stop } = context;
      await withExistingData(configuration.data, async ({ store, vapidKeys }) => {
        const sender = await openSender(configuration, vapidKeys, context, store);
        try {
          const { threads } = configuration;
          await output.line(
            flags.json
              ? JSON.stringify({ event: 'ready', threads })
              : `Deskbell delivers broadcasts with ${threads} thread${threads === 1 ? '' : 's'}.`,
          );
          const watching = watchBroadcasts(store.broadcasts, output, { json: flags.json ?? false }, stop);
          await sender.work(stop, (fault) => output.remark(describeFailure(fault)));
          await watching;
        } finally {
          await sender.close();
        }
      });
    });
}
