// `deskbell broadcasts pause` and `cancel`: control a broadcast, whichever process delivers it.
import type { Command } from 'commander';
import { formatCount } from '../../errors/format-count.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { broadcastChanges } from '../../operations/broadcast-changes.ts';
import { createChangeCommand } from '../data/operation-command.ts';
import type { Context } from '../context.ts';

export const controlCommand = (context: Context, name: 'pause' | 'cancel', description: string): Command =>
  createChangeCommand(context, broadcastChanges[name], {
    name,
    description,
    json: 'Prints the broadcast as JSON.',
    examples: [`deskbell broadcasts ${name} 7`],
    argument: ['<id>', 'Broadcast ID.', parsePositiveInteger],
    input: (id) => ({ id }),
    toText: (broadcast, id) =>
      `Broadcast ${id} is ${stateOf(broadcast)}; ${formatCount(broadcast.counts.accepted)} of ${formatCount(broadcast.recipients)} accepted.`,
  });
