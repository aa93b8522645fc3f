// `deskbell keys`: generates, imports, shows and rotates the VAPID key pairs of a data directory.
import { buffer, text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { generateVapidKeys } from '../../protocol/vapid-token.ts';
import { createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import { requireData } from '../data/open-data.ts';
import { decodeText } from '../input/decode-text.ts';
import { isDer, parseKeyPair, type FoundKeys } from '../input/import-keys.ts';
import { readBytes } from '../input/read-input.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { listCommand } from './keys-list.ts';
import { retireCommand } from './keys-retire.ts';
import { rotateCommand } from './keys-rotate.ts';

interface GenerateFlags {
  readonly import?: string;
  readonly force?: true;
  readonly json?: true;
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
      'Generates a VAPID key pair, or imports one from another web push tool. Replaces existing pairs only with --force; to ' +
      'change the pair without losing subscribers, use "keys rotate".',
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
      const { replaceKeys } = await import('../data/replace-keys.ts');
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
    .action(async (flags: { readonly private?: true; readonly json?: true }) => {
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
