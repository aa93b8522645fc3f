// `deskbell keys`: generates, imports, shows, lists, rotates and retires the VAPID key pairs of a data directory.
import { buffer, text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import { describeMissingKeys, missingKeysRemedy, readKeyRing } from '../../keys/vapid-key-files.ts';
import { generateVapidKeys } from '../../protocol/vapid.ts';
import type { VapidKeyState, VapidKeyStore } from '../../store/vapid-keys.ts';
import { type Context, createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { createDataCommand } from '../data/data-command.ts';
import { requireData } from '../data/open-data.ts';
import { type FoundKeys, isDer, parseKeyPair } from '../input/import-keys.ts';
import { decodeText, readBytes } from '../input/read-input.ts';
import { inColumns, type JsonFlag } from '../output/output.ts';

interface ListedKey {
  readonly publicKey: string;
  /** `foreign`: subscriptions were made with this key, but it was never a key of this installation. */
  readonly state: VapidKeyState | 'foreign';
  readonly subscriptions: number;
  /** Whether a key file contains the key's private key. */
  readonly hasKeyFile: boolean;
}

function listCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'list',
    description:
      'Prints each VAPID public key with its state and the number of subscriptions that were made with it. To send ' +
      'messages to subscriptions that were made with a "current", "previous" or "next" key, Deskbell needs the key ' +
      'file with the private key.',
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
    await output.table(flags, { rows: keys, toJson: (key) => key, ...columns });
    const missing = describeMissingKeys(known, counts, ring, keyDirectory);
    if (missing !== undefined && !flags.json) output.diagnostic(`${missing} ${missingKeysRemedy}`);
  });
}

const isListed = (state: ListedKey['state']): boolean => state !== 'retired' && state !== 'foreign';

const columns = inColumns<ListedKey>([
  ['STATE', 8, ({ state }) => state],
  ['SUBSCRIPTIONS', -13, ({ subscriptions }) => String(subscriptions)],
  ['PUBLIC KEY', 87, ({ publicKey }) => publicKey],
  ['', 0, ({ state, hasKeyFile }) => (!hasKeyFile && isListed(state) ? 'no key file' : '')],
]);

function rotateCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'rotate',
    description:
      'Creates a new VAPID key pair and switches to it. Deskbell keeps the previous key pair for the subscriptions ' +
      'that were made with it. Browsers subscribe with the new key pair on their next visit. You do not have to ' +
      'restart services or senders for the new key pair.',
    json: 'Prints JSON.',
    examples: ['deskbell keys rotate'],
  }).onData(async ({ store, vapidKeys }, flags: JsonFlag) => {
    const { rotateKeys } = await import('../data/key-rotation.ts');
    const publicKey = await rotateKeys(vapidKeys.keyDirectory, store);
    await output.result(flags, { publicKey }, `Public key: ${publicKey}`);
  });
}

/** The shortest prefix that can name a public key; every key begins with B. */
const minPrefixLength = 8;

function retireCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'retire',
    description:
      'Removes the private key of a former VAPID key pair. If the store still has subscriptions that were made with ' +
      'the former key pair, the command needs --force. Once the private key is removed, messages to subscriptions ' +
      'of the former key pair are rejected.',
    json: 'Prints JSON.',
    examples: ['deskbell keys retire BCVxsr7N'],
  })
    .argument('<key>', `The public key, or its first ${minPrefixLength} characters or more.`)
    .option('--force', 'Retires the pair even if subscriptions were made with it.')
    .onData(async ({ store, vapidKeys }, key: string, flags: JsonFlag & { readonly force?: true }) => {
      const { retireKey } = await import('../data/key-rotation.ts');
      const publicKey = await findKey(store.vapidKeys, key);
      const force = flags.force ?? false;
      const subscriptions = await retireKey(vapidKeys.keyDirectory, store, publicKey, { force });
      const note = subscriptions > 0 ? ` ${countOf(subscriptions, 'subscription')} cannot be sent to.` : '';
      await output.result(flags, { publicKey, subscriptions }, `Retired ${publicKey}.${note}`);
    });
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

interface GenerateFlags extends JsonFlag {
  readonly import?: string;
  readonly force?: true;
}

export function keysCommand(context: Context): Command {
  return createCommand({
    name: 'keys',
    description: 'Generates, shows and rotates the VAPID key pairs, which subscriptions are bound to.',
    examples: ['deskbell keys show', 'deskbell keys rotate'],
  })
    .addCommand(generateCommand(context))
    .addCommand(showCommand(context))
    .addCommand(rotateCommand(context))
    .addCommand(listCommand(context))
    .addCommand(retireCommand(context));
}

function generateCommand(context: Context): Command {
  const { environment, output } = context;
  return createCommand({
    name: 'generate',
    description:
      'Generates a VAPID key pair, or imports one from another web push tool. The command replaces existing pairs ' +
      'only with --force. To change your key pair without losing subscribers, use "keys rotate".',
    settings: dataSettings,
    json: 'Prints JSON.',
    examples: [
      'deskbell keys generate',
      'deskbell keys generate --import web-push-keys.json',
      'deskbell keys generate --import private_key.pem',
      'deskbell keys show --private --json --data old | deskbell keys generate --import - --data new',
    ],
  })
    .option(
      '--import <file>',
      'Imports the pair from this file: a private key in PEM, DER or JWK, or a text with both keys in base64 or hexadecimal digits; "-" is standard input.',
    )
    .option('--force', 'Replaces all existing pairs. Every subscriber is lost.')
    .action(async (flags: GenerateFlags) => {
      const { data, database } = await readConfiguration({ flags, environment });
      const { found, ...keys } =
        flags.import === undefined
          ? { ...generateVapidKeys(), found: undefined }
          : await importKeys(flags.import, context);
      const force = flags.force ?? false;
      const { replaceKeys } = await import('../data/key-rotation.ts');
      const isNew = await replaceKeys(data, keys, { force, database });
      const { publicKey } = keys;
      await output.result(flags, { publicKey }, `Public key: ${publicKey}`);
      if (found !== undefined) output.diagnostic(`Found ${found}.`);
      if (!isNew) output.diagnostic('This pair is there already; nothing was changed.');
    });
}

async function importKeys(file: string, context: Context): Promise<FoundKeys> {
  const bytes = await buffer(readBytes(file, context));
  return parseKeyPair(isDer(bytes) ? bytes : await text(decodeText([bytes], { label: file })));
}

function showCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'show',
    description: 'Prints the public key, or both keys.',
    settings: ['data'],
    json: 'Prints JSON, in the form that other web push tools use.',
    examples: ['deskbell keys show', '(umask 077; deskbell keys show --private --json > web-push-keys.json)'],
  })
    .option('--private', 'Also prints the private key.')
    .action(async (flags: JsonFlag & { readonly private?: true }) => {
      const { data } = await readConfiguration({ flags, environment });
      await requireData(data);
      const { readKeyFile } = await import('../../keys/vapid-key-files.ts');
      const { publicKey, privateKey } = await readKeyFile(data);
      const shown = flags.private ? { publicKey, privateKey } : { publicKey };
      await output.result(
        flags,
        shown,
        `Public key:  ${publicKey}${flags.private ? `\nPrivate key: ${privateKey}` : ''}`,
      );
    });
}
