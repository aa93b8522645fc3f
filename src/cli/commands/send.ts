// `deskbell send`: one push message to one subscription of the store, or to all of them.
import { Option, type Command } from 'commander';
import type { Sender } from '../../delivery/sender.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { StoredSubscription, SubscriptionStore } from '../../store/store.ts';
import type { Message } from '../../webpush/payload.ts';
import { urgencies, type PushOptions, type Urgency } from '../../webpush/request.ts';
import { parsePositiveInteger, parseSeconds } from '../arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data.ts';
import { openSender, senderSettings } from '../open-sender.ts';
import { readConfiguration } from '../read-configuration.ts';
import { createSendReport, type SendReport } from '../send-report.ts';
import { subscriptionPages } from '../subscription-pages.ts';

interface SendFlags {
  readonly title: string;
  readonly message: string;
  readonly all?: true;
  readonly endpoint?: string;
  readonly id?: number;
  readonly ttl?: number;
  readonly urgency?: Urgency;
  readonly topic?: string;
  readonly json?: true;
}

/** Messages under way at once when sending to all. */
const maxInFlight = 64;

export function sendCommand(context: Context): Command {
  return createCommand({
    name: 'send',
    description:
      'Sends a push message and prints what the push service says to it. Subscriptions that have ended are removed. ' +
      'Exits with 1 where a message was not accepted and its subscription is still there.',
    settings: ['data', ...senderSettings],
    examples: [
      "deskbell send --all --title 'Ding dong' --message 'Tea is ready' --subject mailto:you@your.domain",
      "deskbell send --id 17 --title Hello --message 'Only for you' --ttl 3600 --urgency high",
    ],
  })
    .requiredOption('--title <text>', 'Title of the notification.')
    .requiredOption('--message <text>', 'Text of the notification.')
    .addOption(new Option('--all', 'Sends to every subscription.').conflicts(['endpoint', 'id']))
    .addOption(
      new Option('--endpoint <url>', 'Sends to the subscription with this endpoint.').conflicts('id'),
    )
    .addOption(
      new Option('--id <id>', 'Sends to the subscription with this id.').argParser(parsePositiveInteger),
    )
    .option(
      '--ttl <seconds>',
      'How long the push service keeps the message. (default: 4 weeks)',
      parseSeconds,
    )
    .addOption(
      new Option(
        '--urgency <urgency>',
        'How far the message may wait for the battery’s sake. (default: normal)',
      ).choices(urgencies),
    )
    .option('--topic <label>', 'Replaces an undelivered message with the same label.')
    .option('--json', 'Prints JSON Lines: one per outcome, then the counts.')
    .action(async (flags: SendFlags) => {
      const configuration = await readConfiguration({
        flags: { ...flags },
        environment: context.environment,
      });
      if (!flags.all && flags.endpoint === undefined && flags.id === undefined) {
        throw new DeskbellError('ERR_USAGE', 'Say whom to send to: --all, --endpoint or --id');
      }
      await withExistingData(configuration.data, async ({ store, vapidKeys }) => {
        const sender = await openSender(configuration, vapidKeys, context);
        try {
          const report = createSendReport(context.output, { json: flags.json ?? false });
          const delivery = createDelivery(flags, sender, store.subscriptions, report);
          if (flags.all) {
            await sendToAll(delivery, subscriptionPages(store.subscriptions, context.stop));
            await report.end();
          } else {
            await delivery(await findSubscription(store.subscriptions, flags));
          }
          refuseIncomplete(report, flags);
        } finally {
          await sender.close();
        }
      });
    });
}

type Delivery = (row: StoredSubscription) => Promise<void>;

/** Sends the message to one row, removes the row where it has ended, and reports what came of it. */
function createDelivery(
  flags: SendFlags,
  sender: Sender,
  subscriptions: SubscriptionStore,
  report: SendReport,
): Delivery {
  const message: Message = { title: flags.title, message: flags.message };
  const options: PushOptions = {
    ...(flags.ttl !== undefined && { ttlSeconds: flags.ttl }),
    ...(flags.urgency !== undefined && { urgency: flags.urgency }),
    ...(flags.topic !== undefined && { topic: flags.topic }),
  };
  return async (row) => {
    const result = await sender.send(row, message, options);
    // With its `auth`: a browser that has registered the endpoint anew meanwhile is kept.
    if (result.outcome.kind === 'gone') await subscriptions.removeByEndpoint(row.endpoint, row.auth);
    await report.add(row, result);
  };
}

async function sendToAll(
  deliver: Delivery,
  pages: AsyncIterable<readonly StoredSubscription[]>,
): Promise<void> {
  const rows = rowsOf(pages);
  const takeRows = async (): Promise<void> => {
    for await (const row of rows) await deliver(row);
  };
  const takers = await Promise.allSettled(Array.from({ length: maxInFlight }, takeRows));
  for (const taker of takers) if (taker.status === 'rejected') throw taker.reason;
}

async function* rowsOf(
  pages: AsyncIterable<readonly StoredSubscription[]>,
): AsyncGenerator<StoredSubscription> {
  for await (const page of pages) yield* page;
}

async function findSubscription(
  subscriptions: SubscriptionStore,
  { id, endpoint = '' }: SendFlags,
): Promise<StoredSubscription> {
  const row = await (id === undefined ? subscriptions.findByEndpoint(endpoint) : subscriptions.findById(id));
  if (row) return row;
  throw new DeskbellError(
    'ERR_SUBSCRIPTION_NOT_FOUND',
    id === undefined ? 'There is no subscription with this endpoint' : `There is no subscription ${id}`,
  );
}

/** To one, only accepted is success; to all, subscriptions that have ended are part of the day. */
function refuseIncomplete({ counts }: SendReport, { all }: SendFlags): void {
  const failed = counts.retry + counts.rejected + (all ? 0 : counts.gone);
  if (failed === 0) return;
  throw new DeskbellError('ERR_NOT_ACCEPTED', `The push service did not accept ${failed} of the messages`);
}
