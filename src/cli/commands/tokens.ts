// `deskbell token`, `session` and `webhook-secret`: print tokens and secrets that prove an identity.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { loadOrCreateSecret } from '../../keys/secret-files.ts';
import { formatWebhookSecret } from '../../operator/webhook/webhook-target.ts';
import type { SubscriberTokens } from '../../service/push/subscriber-token.ts';
import { type Context, createCommand } from '../command.ts';
import { type Configuration, dataSettings, subscriberTokenSettings } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { requireData } from '../data/open-data.ts';
import { parsePositiveInteger, parseTags } from '../flags/arguments.ts';
import { readTextFile } from '../input/read-input.ts';
import type { JsonFlag } from '../output/output.ts';

/**
 * Reads how subscriber tokens are checked: algorithm, key and audience.
 *
 * @returns `undefined` if subscriber tokens are off
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE, or an error of `data.subscriberTokenKey`
 */
export async function readSubscriberTokens(
  { subscriberTokens, subscriberTokenAudience: audience }: Configuration,
  data: Pick<DataDirectory, 'subscriberTokenKey'>,
): Promise<SubscriberTokens | undefined> {
  if (subscriberTokens === 'off') return undefined;
  if (subscriberTokens === 'HS256')
    return { algorithm: 'HS256', key: await data.subscriberTokenKey(), audience };
  const publicKey = await readTextFile(subscriberTokens, `The public key ${subscriberTokens}`);
  return { algorithm: 'EdDSA', publicKey, audience };
}

export function sessionCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'session',
    description:
      'Creates a session for the demonstration, and prints its Cookie and Csrf-Token headers. The SESSION entry of ' +
      'the session gets the value that you give. Send the Cookie header with every request, and the Csrf-Token ' +
      'header with requests that have an unsafe method. The session is valid for one day.',
    json: 'Prints {"cookie", "csrfToken"}.',
    examples: [
      'deskbell session alice',
      'curl -H "$(deskbell session alice | head -1)" http://127.0.0.1:8080/api/get',
    ],
  })
    .argument('<value>', 'Value of the SESSION entry; may be empty ("").')
    .onData(async ({ sessionKey }, value: string, flags: JsonFlag) => {
      const { createSessionCookie } = await import('../../service/demonstration/session.ts');
      const { cookie, csrfToken } = await createSessionCookie({ sessionKey, value });
      await output.result(flags, { cookie, csrfToken }, `Cookie: ${cookie}\nCsrf-Token: ${csrfToken}`);
    });
}

interface TokenFlags {
  readonly user: string;
  readonly tags?: readonly string[];
  readonly lifetime?: number;
}

export function tokenCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'token',
    description:
      'Prints a subscriber token: a JWT that assigns a subscription to a user, signed with the data directory’s key ' +
      '(HS256). Your page passes the token to the client, which sends the token when it subscribes.',
    settings: subscriberTokenSettings,
    examples: [
      'deskbell token --user 42 --tags beta,de --subscriber-tokens HS256',
      'DESKBELL_SUBSCRIBER_TOKENS=HS256 deskbell token --user 42 --lifetime 600',
    ],
  })
    .requiredOption('--user <id>', 'Your own ID for the person.')
    .option('--tags <tags>', 'The subscription’s tags, separated by commas.', parseTags)
    .option(
      '--lifetime <seconds>',
      'How long the token is valid, at most an hour. (default: an hour)',
      parsePositiveInteger,
    )
    .onData(async (data, { user, tags, lifetime }: TokenFlags) => {
      const tokens = await readSubscriberTokens(data.configuration, data);
      if (tokens?.algorithm !== 'HS256') {
        throw new DeskbellError(
          'ERR_CONFIGURATION',
          tokens === undefined
            ? 'Subscriber tokens are off: set subscriberTokens to HS256, here and for the service'
            : 'Tokens for EdDSA are signed with the private key of the application, which Deskbell does not have',
        );
      }
      const { createSubscriberToken } = await import('../../service/push/subscriber-token.ts');
      const { key, audience } = tokens;
      await output.line(
        await createSubscriberToken({ key, audience, user, tags, lifetimeSeconds: lifetime }),
      );
    });
}

export function webhookSecretCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'webhook-secret',
    description:
      'Prints the secret that signs webhook messages (Standard Webhooks). "serve" sends these messages if you set ' +
      '--operator and --webhook. Anyone who has the secret can forge messages that receivers accept.',
    settings: dataSettings,
    json: 'Prints JSON.',
    examples: ['deskbell webhook-secret'],
  }).action(async (flags: JsonFlag) => {
    const { data } = await readConfiguration({ flags, environment });
    await requireData(data);
    const secret = formatWebhookSecret(await loadOrCreateSecret(data, 'webhook-secret'));
    await output.result(flags, { secret }, secret);
  });
}
