// `deskbell web-push`: the command line of the npm package `web-push`, with its flags and its output, for scripts that
// use it. Usage errors look the same as in every other command.
import { inspect } from 'node:util';
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { RequestOptions } from '../../web-push/index.ts';
import { type Context, createCommand } from '../command.ts';
import type { JsonFlag } from '../output/output.ts';

interface SendFlags {
  readonly endpoint: string;
  readonly key?: string;
  readonly auth?: string;
  readonly payload?: string;
  readonly ttl?: string;
  readonly encoding?: string;
  readonly vapidSubject?: string;
  readonly vapidPubkey?: string;
  readonly vapidPvtkey?: string;
  readonly proxy?: string;
  readonly gcmApiKey?: string;
}

export function webPushCommand(context: Context): Command {
  return createCommand({
    name: 'web-push',
    description: 'The command line of the npm package web-push, for scripts that use it.',
    examples: ['deskbell web-push generate-vapid-keys --json'],
  })
    .addCommand(generateCommand(context))
    .addCommand(sendCommand(context));
}

function generateCommand({ output }: Context): Command {
  return createCommand({
    name: 'generate-vapid-keys',
    description:
      'Prints a new VAPID key pair. The command does not store the new key pair. To generate and store a key pair, ' +
      'use "deskbell keys generate".',
    json: 'Prints JSON.',
    examples: ['deskbell web-push generate-vapid-keys', 'deskbell web-push generate-vapid-keys --json'],
  }).action(async ({ json }: JsonFlag) => {
    const { generateVAPIDKeys } = await import('../../web-push/index.ts');
    const keys = generateVAPIDKeys();
    const rule = `\n${'='.repeat(39)}\n`;
    const text = `${rule}\nPublic Key:\n${keys.publicKey}\n\nPrivate Key:\n${keys.privateKey}\n${rule}`;
    await output.result({ json }, keys, text);
  });
}

function sendCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'send-notification',
    description:
      'Sends one message to a subscription, for which you give the endpoint and the keys. The exit code is 1 if the ' +
      'message was not accepted.',
    examples: [
      'deskbell web-push send-notification --endpoint=https://… --key=BF… --auth=k8… --payload=Hello \\\n' +
        '      --vapid-subject=mailto:you@example.org --vapid-pubkey=BP… --vapid-pvtkey=4L…',
    ],
  })
    .requiredOption('--endpoint <url>', "The subscription's endpoint.")
    .option('--key <p256dh>', 'The subscription\'s "p256dh".')
    .option('--auth <auth>', 'The subscription\'s "auth".')
    .option('--payload <message>', 'The message to send; needs --key and --auth.')
    .option('--ttl <seconds>', 'How long the push service keeps the message. (default: four weeks)')
    .option('--encoding <encoding>', '"aes128gcm" or "aesgcm". (default: "aes128gcm")')
    .option('--vapid-subject <uri>', 'Contact for the push service: a mailto: or https: URI.')
    .option('--vapid-pubkey <key>', 'Public half of the VAPID key pair.')
    .option('--vapid-pvtkey <key>', 'Private half of the VAPID key pair.')
    .option('--proxy <url>', 'HTTP proxy, such as http://127.0.0.1:8889.')
    .option('--gcm-api-key <key>', 'API key for endpoints of Google Cloud Messaging; or in GCM_API_KEY.')
    .action(async (flags: SendFlags) => {
      const { sendNotification, setGCMAPIKey } = await import('../../web-push/index.ts');
      const gcmApiKey = environment['GCM_API_KEY'];
      if (gcmApiKey) setGCMAPIKey(gcmApiKey);
      const { endpoint, key = '', auth = '', payload } = flags;
      try {
        await sendNotification({ endpoint, keys: { p256dh: key, auth } }, payload, optionsOf(flags));
      } catch (error) {
        await output.line(`Error sending push message: \n${inspect(error)}`);
        throw new DeskbellError('ERR_NOT_ACCEPTED', 'The message was not accepted', { cause: error });
      }
      await output.line('Push message sent.');
    });
}

/** Leaves out flags that were not given; `sendNotification` checks the values. */
function optionsOf(flags: SendFlags): RequestOptions {
  const { ttl, encoding, vapidSubject, vapidPubkey, vapidPvtkey } = flags;
  const hasVapid = Boolean(vapidSubject || vapidPubkey || vapidPvtkey);
  return {
    TTL: ttl ? Number(ttl) : undefined,
    contentEncoding: encoding as RequestOptions['contentEncoding'],
    vapidDetails: hasVapid
      ? { subject: vapidSubject ?? '', publicKey: vapidPubkey ?? '', privateKey: vapidPvtkey ?? '' }
      : undefined,
    proxy: flags.proxy,
    gcmAPIKey: flags.gcmApiKey,
  };
}
