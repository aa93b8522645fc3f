// `deskbell keys rotate`: makes a new VAPID key pair current; services and senders that run switch to it.
import type { Command } from 'commander';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

export function rotateCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'rotate',
    description:
      'Makes a new VAPID key pair current. The former pair stays for the subscriptions that were made with it; browsers ' +
      'subscribe with the new one at their next visit. Running services and senders need no restart.',
    json: 'Prints JSON.',
    examples: ['deskbell keys rotate'],
  }).onData(async ({ store, vapidKeys }, flags: JsonFlag) => {
    const { rotateKeys } = await import('../data/key-rotation.ts');
    const publicKey = await rotateKeys(vapidKeys.keyDirectory, store);
    await output.result(flags, { publicKey }, `Public key: ${publicKey}`);
  });
}
