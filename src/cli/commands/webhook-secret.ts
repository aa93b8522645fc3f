// `deskbell webhook-secret`: what receivers of the webhook check its signatures with.
import type { Command } from 'commander';
import { loadOrCreateSecret } from '../../keys/secret-files.ts';
import { formatWebhookSecret } from '../../operator/webhook/sign-webhook.ts';
import { createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { requireData } from '../data/open-data.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';

export function webhookSecretCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'webhook-secret',
    description:
      'Prints the secret that the webhook of "serve --operator … --webhook …" is signed with (Standard Webhooks). Anyone who ' +
      'has it can forge messages that receivers accept.',
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
