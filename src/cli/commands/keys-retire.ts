// `deskbell keys retire`: removes a VAPID key pair that no subscription needs any more.
import type { Command } from 'commander';
import { countOf } from '../../errors/format-count.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { VapidKeyStore } from '../../store/vapid-keys.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

/** Of the public key; all of them begin with B. */
const minPrefixLength = 8;

export function retireCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'retire',
    description:
      'Removes the private key of a former VAPID key pair. Refuses while subscriptions were made with that pair, unless ' +
      '--force is given: messages to them are rejected from then on.',
    json: 'Prints JSON.',
    examples: ['deskbell keys retire BCVxsr7N'],
  })
    .argument('<key>', `The public key, or its first ${minPrefixLength} characters or more.`)
    .option('--force', 'Retires the pair although subscriptions were made with it.')
    .onData(async ({ store, vapidKeys }, key: string, flags: RetireFlags) => {
      const { retireKey } = await import('../data/key-rotation.ts');
      const publicKey = await findKey(store.vapidKeys, key);
      const force = flags.force ?? false;
      const subscriptions = await retireKey(vapidKeys.keyDirectory, store, publicKey, { force });
      const note = subscriptions > 0 ? ` ${countOf(subscriptions, 'subscription')} cannot be sent to.` : '';
      await output.result(flags, { publicKey, subscriptions }, `Retired ${publicKey}.${note}`);
    });
}

interface RetireFlags extends JsonFlag {
  readonly force?: true;
}

/** @throws {DeskbellError} ERR_KEY_NOT_FOUND */
async function findKey(vapidKeys: VapidKeyStore, prefix: string): Promise<string> {
  const ours = (await vapidKeys.list()).filter(({ state }) => state !== undefined);
  const [found, ...others] = ours.filter(({ publicKey }) => publicKey.startsWith(prefix));
  if (prefix.length < minPrefixLength) {
    throw new DeskbellError(
      'ERR_KEY_NOT_FOUND',
      `"${prefix}" is too short to name a public key: give its first ${minPrefixLength} characters at least`,
    );
  }
  if (found !== undefined && others.length === 0) return found.publicKey;
  throw new DeskbellError(
    'ERR_KEY_NOT_FOUND',
    found === undefined
      ? `No key pair has a public key that begins with "${prefix}"`
      : `${others.length + 1} key pairs have a public key that begins with "${prefix}": give more of it`,
  );
}
