// `deskbell keys rotate`: makes a new VAPID key pair current; services and senders that run switch to it.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { dataSettings, withExistingData } from '../data/open-data.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';

export function rotateCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'rotate',
    description:
      'Makes a new VAPID key pair current. The former pair stays for the subscriptions that were made with it; browsers ' +
      'subscribe with the new one at their next visit. Running services and senders need no restart.',
    settings: [...dataSettings],
    examples: ['deskbell keys rotate'],
  })
    .option('--json', 'Prints JSON.')
    .action(async (flags: { readonly json?: true }) => {
      const configuration = await readConfiguration({ flags: { ...flags }, environment });
      await withExistingData(configuration, async ({ store }) => {
        const { rotateKeys } = await import('../data/key-rotation.ts');
        const publicKey = await rotateKeys(configuration.data, store);
        await output.line(flags.json ? JSON.stringify({ publicKey }) : `Public key: ${publicKey}`);
      });
    });
}
