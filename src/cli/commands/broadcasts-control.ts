// `deskbell broadcasts pause` and `cancel`: control a broadcast, whichever process delivers it.
import type { Command } from 'commander';
import { formatCount } from '../../errors/format-count.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { broadcastView } from '../../operations/broadcast.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

export function controlCommand(
  { environment, output }: Context,
  name: 'pause' | 'cancel',
  description: string,
): Command {
  return createDataCommand(environment, {
    name,
    description,
    json: 'Prints the broadcast as JSON.',
    examples: [`deskbell broadcasts ${name} 7`],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .onData(async ({ store }, id: number, flags: JsonFlag) => {
      const broadcast = await store.broadcasts[name](id);
      const { accepted } = broadcast.counts;
      await output.result(
        flags,
        broadcastView.toJson(broadcast),
        `Broadcast ${id} is ${stateOf(broadcast)}; ${formatCount(accepted)} of ${formatCount(broadcast.recipients)} accepted.`,
      );
    });
}
