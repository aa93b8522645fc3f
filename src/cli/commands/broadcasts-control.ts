// `deskbell broadcasts pause` and `cancel`: control a broadcast, whichever process delivers it.
import type { Command } from 'commander';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { broadcastToJson, formatCount, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { dataSettings, withNamedData } from '../data/open-data.ts';

export function controlCommand(
  { environment, output }: Context,
  name: 'pause' | 'cancel',
  description: string,
): Command {
  return createCommand({
    name,
    description,
    settings: [...dataSettings],
    examples: [`deskbell broadcasts ${name} 7`],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .option('--json', 'Prints the broadcast as JSON.')
    .action(async (id: number, flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const broadcast = await store.broadcasts[name](id);
        const { accepted } = broadcast.counts;
        await output.line(
          flags.json
            ? JSON.stringify(broadcastToJson(broadcast))
            : `Broadcast ${id} is ${stateOf(broadcast)}; ${formatCount(accepted)} of ${formatCount(broadcast.audience)} accepted.`,
        );
      });
    });
}
