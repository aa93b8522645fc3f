// `deskbell token`: makes a subscriber token, as an application's backend does.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { dataSettings, subscriberTokenSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data/open-data.ts';
import { parseTags } from '../flags/people-flags.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { readSubscriberTokens } from '../serve/subscriber-tokens.ts';

interface TokenFlags {
  readonly user: string;
  readonly tags?: readonly string[];
  readonly lifetime?: number;
}

export function tokenCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'token',
    description:
      'Prints a subscriber token: a JWT that assigns a subscription to a user, signed with the key of the data directory ' +
      '(HS256). The page gives it to the client, which sends it when it subscribes.',
    settings: [...dataSettings, ...subscriberTokenSettings],
    examples: [
      'deskbell token --user 42 --tags beta,de --subscriber-tokens HS256',
      'DESKBELL_SUBSCRIBER_TOKENS=HS256 deskbell token --user 42 --lifetime 600',
    ],
  })
    .requiredOption('--user <id>', 'The application’s own ID of the person.')
    .option('--tags <tags>', 'Tags of the subscription, separated by commas.', parseTags)
    .option(
      '--lifetime <seconds>',
      'How long the token is valid, at most an hour. (default: an hour)',
      parsePositiveInteger,
    )
    .action(async ({ user, tags, lifetime, ...flags }: TokenFlags) => {
      const configuration = await readConfiguration({ flags, environment });
      await withExistingData(configuration, async (data) => {
        const tokens = await readSubscriberTokens(configuration, data);
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
    });
}
