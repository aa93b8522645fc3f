// `deskbell send`: one push message to one subscription immediately, or to many as a broadcast.
import { type Command, Option } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { outcomeGroups } from '../../store/broadcasts.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import {
  requireSubscription,
  type StoredSubscription,
  type SubscriptionStore,
} from '../../store/subscriptions.ts';
import { assertNotBlank } from '../../protocol/message/check-message.ts';
import type { Message } from '../../protocol/message/message.ts';
import {
  addPeopleFlags,
  parseIds,
  parsePositiveInteger,
  parseTime,
  peopleFlagNames,
} from '../flags/arguments.ts';
import {
  addDeliveryFlags,
  addMessageFlags,
  type MessageFlags,
  readDeliveryFlags,
  readMessage,
} from '../flags/message-flags.ts';
import { addOptions, type Context, createCommand } from '../command.ts';
import { dataSettings, senderSettings, type Configuration } from '../configuration/configuration.ts';
import { withExistingData } from '../data/open-data.ts';
import { printDryRun } from '../send/dry-run.ts';
import { openSender } from '../send/open-sender.ts';
import { hostTitle, readConfiguration, storeSettings } from '../configuration/read-configuration.ts';
import {
  audienceOf,
  type BroadcastFlags,
  printSendResult,
  sendBroadcast,
  withOwnZone,
} from '../send/send-broadcast.ts';

interface SendFlags extends BroadcastFlags, MessageFlags {
  readonly endpoint?: string;
  readonly id?: number;
  readonly dryRun?: true;
}

const forOne = ['endpoint', 'id'];
const audiences = ['all', 'ids', 'broadcast', 'file', ...forOne];
const allAudiences = [...audiences, ...peopleFlagNames];

export function sendCommand(context: Context): Command {
  const command = createCommand({
    name: 'send',
    description:
      'Sends a push message. If you send to one subscription, the command sends the message immediately and prints ' +
      'the outcome. If you send to several subscriptions, the command creates a broadcast. Deskbell stores each ' +
      'broadcast, and retries its messages when push services are busy. If the command crashes, the broadcast is ' +
      'not lost: another process can continue it. Deskbell also removes subscriptions that have ended. The exit ' +
      'code is 1 if a message to a live subscription was not accepted.',
    settings: [...dataSettings, ...senderSettings, 'receipts'],
    json: 'Prints JSON Lines, with the outcome, or with the events and the summary of the broadcast.',
    examples: [
      "deskbell send --user me 'Backups are done'",
      "deskbell send --all --title 'Ding dong' --message 'Tea is ready' --subject mailto:you@example.org",
      "deskbell send --id 17 --title Hello --message 'Only for you' --urgency high --subject mailto:you@example.org",
      "deskbell send --id 17 --title 'Order 7' --message 'is ready' --url /orders/7 --action 'Invoice=/orders/7/invoice' --subject mailto:you@example.org",
      "deskbell send --user 42 --title Hello --message 'On all your devices' --subject mailto:you@example.org",
      "deskbell send --tag news --not-tag muted --title News --message 'It rains' --subject mailto:you@example.org",
      "deskbell send --broadcast 123 --outcome notClicked --title Reminder --message 'Tea is getting cold' --subject mailto:you@example.org",
      "deskbell send --all --title Hello --message 'Tea is ready' --dry-run",
      "deskbell send --all --cron '0 9 * * 1' --timezone Europe/Berlin --title Monday --message 'A new week' --subject mailto:you@example.org",
      "DESKBELL_SUBJECT=mailto:you@example.org deskbell send --all --at 2027-01-01T00:00:00Z --title '2027' --message 'Happy new year'",
    ],
  });
  addOptions(command.optionsGroup('Audience:'), allAudiences, [['--all', 'Sends to every subscription.']]);
  addPeopleFlags(command, 'Sends to', audiences);
  // only one audience may be given at a time
  addOptions(command, allAudiences, [
    ['--ids <ids>', 'Sends to the subscriptions with these IDs, separated by commas.', parseIds],
    [
      '--broadcast <id>',
      'Sends to the recipients of this earlier broadcast who have the outcome in --outcome.',
      parsePositiveInteger,
    ],
    [
      '--file <file>',
      'Sends to the subscriptions in a file of JSON Lines, which need not be stored; "-" is standard input.',
    ],
    ['--endpoint <url>', 'Sends to the subscription with this endpoint.'],
    ['--id <id>', 'Sends to the subscription with this ID.', parsePositiveInteger],
  ]);
  command.addOption(
    new Option(
      '--outcome <outcome>',
      'Selects the recipients of --broadcast with this outcome (default: accepted).',
    ).choices(outcomeGroups),
  );
  addDeliveryFlags(addMessageFlags(command.optionsGroup('Message:')), 'any');
  // not allowed for a single subscription: its message is sent immediately or not at all
  addOptions(addDeliveryFlags(command.optionsGroup('Broadcast:'), 'broadcast', forOne), forOne, [
    [
      '--at <time>',
      'Sends at this time, such as 2027-01-01T09:00+01:00. A worker must be running at this time.',
      parseTime,
    ],
    [
      '--cron <expression>',
      "Repeats the broadcast at the times of a cron expression, such as '0 9 * * 1'. A worker must be running at these times.",
      undefined,
      ['ids', 'broadcast', 'file', 'at', 'detach', 'idempotencyKey'],
    ],
    [
      '--idempotency-key <key>',
      'Makes the command safe to repeat. A second command with the same key does not send again.',
    ],
    ['--detach', 'Only stores the broadcast. A worker delivers it.'],
  ]);
  return command
    .argument(
      '[text]',
      'The message’s text. Without --title, the title is the public URL’s host, or this machine’s name.',
    )
    .optionsGroup('Options:')
    .option('--dry-run', 'Prints the size of the audience and the payload, and sends nothing.')
    .action(async (text: string | undefined, flags: SendFlags) => {
      const configuration = await readConfiguration({ flags, environment: context.environment });
      if (!allAudiences.some((name) => name in flags)) {
        throw new DeskbellError(
          'ERR_USAGE',
          'Choose the audience: --all, --user, --tag, --any-tag, --not-tag, --ids, --broadcast, --file, --endpoint or --id',
        );
      }
      if (flags.outcome !== undefined && flags.broadcast === undefined)
        throw new DeskbellError('ERR_USAGE', '--outcome goes with --broadcast');
      const hasTimes = [flags.cron, flags.localTime, flags.quietHours].some((given) => given !== undefined);
      if (flags.timezone !== undefined && !hasTimes) {
        throw new DeskbellError('ERR_USAGE', '--timezone goes with --cron, --local-time or --quiet-hours');
      }
      if (flags.jsonMessage === '-' && flags.file === '-') {
        throw new DeskbellError('ERR_USAGE', 'Standard input can be the message or the audience, not both');
      }
      const given = { text, defaultTitle: hostTitle(configuration) };
      const message = await readMessage(flags, context, given);
      assertNotBlank(message);
      await withExistingData(configuration, async (data) => {
        if (flags.dryRun) return dryRun(flags, message, data, configuration, context);
        await storeSettings(configuration, { replace: false });
        return isForOne(flags)
          ? sendToOne(flags, message, data, configuration, context)
          : sendBroadcast(flags, message, data, configuration, context);
      });
    });
}

const isForOne = ({ endpoint, id }: SendFlags): boolean => endpoint !== undefined || id !== undefined;

async function dryRun(
  flags: SendFlags,
  message: Message,
  { store }: DataDirectory,
  configuration: Configuration,
  context: Context,
): Promise<void> {
  if (flags.cron !== undefined) {
    const { firstTimeAfter } = await import('../../delivery/schedule/recurrence.ts');
    firstTimeAfter(store.now(), flags.cron, flags.timezone ?? 'UTC');
  }
  const target = isForOne(flags)
    ? await findSubscription(store.subscriptions, flags)
    : audienceOf(flags, configuration, context);
  const receipts = configuration.receipts && !isForOne(flags);
  const options = { ...withOwnZone(readDeliveryFlags(flags)), startAt: flags.at, receipts };
  await printDryRun(target, message, options, store, context.output, flags);
}

async function sendToOne(
  flags: SendFlags,
  message: Message,
  data: DataDirectory,
  configuration: Configuration,
  context: Context,
): Promise<void> {
  await using sender = await openSender(configuration, data, context, { json: flags.json });
  const row = await findSubscription(data.store.subscriptions, flags);
  const result = await sender.send(row, message, readDeliveryFlags(flags));
  await printSendResult(context.output, row, result, flags);
  if (result.outcome.kind !== 'accepted') {
    throw new DeskbellError('ERR_NOT_ACCEPTED', 'The push service did not accept the message');
  }
}

async function findSubscription(
  subscriptions: SubscriptionStore,
  { id, endpoint = '' }: SendFlags,
): Promise<StoredSubscription> {
  if (id !== undefined) return requireSubscription(await subscriptions.findById(id), id);
  const row = await subscriptions.findByEndpoint(endpoint);
  if (row) return row;
  throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'There is no subscription with this endpoint');
}
