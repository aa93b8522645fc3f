// `deskbell keys list`: the VAPID key pairs, and how many subscriptions were made with each.
import type { Command } from 'commander';
import {
  describeMissingKeys,
  findMissingKeys,
  missingKeysRemedy,
  readKeyRing,
} from '../../keys/vapid-key-files.ts';
import type { VapidKeyState } from '../../store/vapid-keys.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

interface ListedKey {
  readonly publicKey: string;
  /** `foreign`: subscriptions name it, and it was never one of ours. */
  readonly state: VapidKeyState | 'foreign';
  readonly subscriptions: number;
  /** Whether a key file has its private half. */
  readonly hasKeyFile: boolean;
}

export function listCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'list',
    description:
      'Prints each VAPID public key with its state and the number of subscriptions that were made with it. Messages can ' +
      'be sent to those of a "current", "previous" or "next" key, if a key file has its private half.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell keys list', "deskbell keys list --json | jq 'select(.subscriptions == 0)'"],
  }).onData(async ({ store, vapidKeys }, flags: JsonFlag) => {
    const { keyDirectory } = vapidKeys;
    const ring = await readKeyRing(keyDirectory);
    const counts = await store.vapidKeys.countSubscriptions();
    const known = await store.vapidKeys.list();
    const keys = known
      .map(({ publicKey, state }): ListedKey => {
        return {
          publicKey,
          state: state ?? 'foreign',
          subscriptions: counts.get(publicKey) ?? 0,
          hasKeyFile: ring.some((pair) => pair.publicKey === publicKey),
        };
      })
      .filter(({ state, subscriptions }) => subscriptions > 0 || isListed(state));
    const header = columns('STATE', 'SUBSCRIPTIONS', 'PUBLIC KEY');
    await output.table(flags, { rows: keys, toJson: (key) => key, toText, header });
    const missing = findMissingKeys(known, counts, ring);
    if (missing.length === 0 || flags.json) return;
    output.diagnostic(`${describeMissingKeys(missing, keyDirectory)} ${missingKeysRemedy}`);
  });
}

const isListed = (state: ListedKey['state']): boolean => state !== 'retired' && state !== 'foreign';

function toText({ publicKey, state, subscriptions, hasKeyFile }: ListedKey): string {
  const note = !hasKeyFile && isListed(state) ? '  no key file' : '';
  return `${columns(state, String(subscriptions), publicKey)}${note}`;
}

function columns(state: string, subscriptions: string, publicKey: string): string {
  return `${state.padEnd(8)}  ${subscriptions.padStart(13)}  ${publicKey}`;
}
