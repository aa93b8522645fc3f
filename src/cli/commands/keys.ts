// `deskbell keys`: generates, imports and shows the VAPID key pair of a data directory.
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { generateVapidKeys, type VapidKeys } from '../../protocol/vapid.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { exists, requireData } from '../data.ts';
import { parseKeyPair } from '../import-keys.ts';
import { readInput } from '../read-input.ts';
import { readConfiguration } from '../read-configuration.ts';

interface GenerateFlags {
  readonly import?: string;
  readonly force?: true;
  readonly json?: true;
}

export function keysCommand(context: Context): Command {
  return createCommand({
    name: 'keys',
    description: 'Generates or shows the VAPID key pair, which every subscription is bound to.',
    examples: ['deskbell keys show'],
  })
    .addCommand(generateCommand(context))
    .addCommand(showCommand(context));
}

function generateCommand(context: Context): Command {
  const { environment, output } = context;
  return createCommand({
    name: 'generate',
    description:
      'Generates a VAPID key pair, or imports one from another web push tool. Replaces an existing pair only with --force.',
    settings: ['data'],
    examples: [
      'deskbell keys generate',
      'deskbell keys generate --import web-push-keys.json',
      'deskbell keys generate --import private_key.pem',
      'deskbell keys show --private --json --data old | deskbell keys generate --import - --data new',
    ],
  })
    .option(
      '--import <file>',
      'Imports the pair from this file: a private key in PEM, or a text with both keys in base64url; "-" is standard input.',
    )
    .option('--force', 'Replaces the existing pair. Every subscriber is lost.')
    .option('--json', 'Prints JSON.')
    .action(async (flags: GenerateFlags) => {
      const { data } = await readConfiguration({ flags: { ...flags }, environment });
      const keys =
        flags.import === undefined
          ? generateVapidKeys()
          : parseKeyPair(await text(readInput(flags.import, context)));
      const force = flags.force ?? false;
      if (!force) await refuseToLoseSubscribers(data, keys);
      const { writeKeyFile } = await import('../../keys/key-file.ts');
      const { makeDirectory } = await import('../data-directory.ts');
      await makeDirectory(data);
      await writeKeyFile(data, keys, { force });
      const { publicKey } = keys;
      await output.line(flags.json ? JSON.stringify({ publicKey }) : `Public key: ${publicKey}`);
    });
}

function showCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'show',
    description: 'Prints the public key, or both keys.',
    settings: ['data'],
    examples: ['deskbell keys show', '(umask 077; deskbell keys show --private --json > web-push-keys.json)'],
  })
    .option('--private', 'Also prints the private key.')
    .option('--json', 'Prints JSON, in the form that other web push tools use.')
    .action(async (flags: { readonly private?: true; readonly json?: true }) => {
      const { data } = await readConfiguration({ flags: { ...flags }, environment });
      await requireData(data);
      const { readKeyFile } = await import('../../keys/key-file.ts');
      const { publicKey, privateKey } = await readKeyFile(data);
      const shown = flags.private ? { publicKey, privateKey } : { publicKey };
      await output.line(
        flags.json
          ? JSON.stringify(shown)
          : `Public key:  ${publicKey}${flags.private ? `\nPrivate key: ${privateKey}` : ''}`,
      );
    });
}

/** A lost key file beside a database with subscribers asks for a backup, not for a new pair. */
async function refuseToLoseSubscribers(directory: string, keys: VapidKeys): Promise<void> {
  const { databasePathOf } = await import('../data-directory.ts');
  if (!(await exists(databasePathOf(directory)))) return;
  const { openSqliteStore } = await import('../../store/sqlite/open-sqlite-store.ts');
  const store = await openSqliteStore({ path: databasePathOf(directory) });
  try {
    const [first] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    if (first === undefined || first.vapidPublicKey === keys.publicKey) return;
    throw new DeskbellError(
      'ERR_KEY_FILE_EXISTS',
      `${directory} has ${await store.subscriptions.count()} subscriptions that were made with another pair`,
    );
  } finally {
    await store.close();
  }
}
