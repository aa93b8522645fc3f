// `deskbell subscriptions show`: shows a subscription or a person's devices, and the outcomes of broadcasts to them.
import type { Command } from 'commander';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { findPersonDevices } from '../../operator/searches.ts';
import { readPayloadTexts } from '../../protocol/message/read-message.ts';
import type { RowOutcome } from '../../store/attempts.ts';
import type { Store } from '../../store/store.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { explain, rowOutcomeView } from '../../operations/outcomes.ts';
import { subscriptionView } from '../../operations/subscriptions.ts';
import type { Context } from '../command.ts';
import { createDataCommand } from '../data/data-command.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import type { JsonFlag, Output } from '../output/output.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';

const defaultLimit = 20;

interface ShowFlags extends JsonFlag {
  readonly user?: string;
  readonly broadcast?: number;
  readonly limit: number;
}

export function showCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'show',
    description:
      'Prints a subscription, or all subscriptions of a person, with the outcome of each broadcast. The outcome ' +
      'says whether the subscription was in the audience, how the push service responded, and what the message is ' +
      'waiting for. The command does not show messages to a single subscription, since Deskbell does not store them.',
    json: 'Prints JSON Lines: the subscriptions, then their outcomes in each broadcast.',
    examples: [
      'deskbell subscriptions show 4711',
      'deskbell subscriptions show 4711 --broadcast 7',
      'deskbell subscriptions show --user 42 --broadcast 7 --json',
    ],
  })
    .argument('[id]', 'Subscription ID.', parsePositiveInteger)
    .option(
      '--user <id>',
      'Shows at most 20 devices of this person, and also devices whose subscription has ended.',
    )
    .option('--broadcast <id>', 'Shows only the outcome of this broadcast.', parsePositiveInteger)
    .option('--limit <count>', 'Maximum broadcasts.', parsePositiveInteger, defaultLimit)
    .onData(async ({ store }, id: number | undefined, flags: ShowFlags) => {
      const { stored, ids } = await find(store, id, flags);
      const { outcomes, hasMore } = await readOutcomes(store, ids, flags);
      if (stored.length === 0 && outcomes.length === 0)
        throw new DeskbellError(
          'ERR_SUBSCRIPTION_NOT_FOUND',
          id === undefined ? 'The user has no subscription.' : `There is no subscription ${id}.`,
        );
      for (const subscription of stored)
        await output.result(flags, subscriptionView.toJson(subscription), formatSubscription(subscription));
      const missing = ids.filter((each) => stored.every((subscription) => subscription.id !== each));
      for (const each of flags.json ? [] : missing) await output.line(`Subscription ${each} is not stored.`);
      await print(output, flags, outcomes, store);
      if (hasMore)
        output.diagnostic(`These are the newest ${flags.limit} broadcasts to it; --limit gives more.`);
    });
}

/** Returns the requested ids, and the subscriptions that the store has for them. */
async function find(store: Store, id: number | undefined, { user }: ShowFlags) {
  if ((id === undefined) === (user === undefined))
    throw new DeskbellError('ERR_USAGE', 'Give the ID of a subscription, or --user');
  if (user !== undefined) {
    const { stored, ended } = await findPersonDevices(user, store);
    return { stored, ids: [...stored, ...ended].map((device) => device.id) };
  }
  const subscription = await store.subscriptions.findById(id!);
  return { stored: subscription === undefined ? [] : [subscription], ids: [id!] };
}

async function readOutcomes({ attempts }: Store, ids: readonly number[], { broadcast, limit }: ShowFlags) {
  if (broadcast !== undefined) return { outcomes: await attempts.outcomesOf(broadcast, ids), hasMore: false };
  const outcomes: RowOutcome[] = [];
  let broadcasts = 0;
  for (let beforeId: number | undefined; ;) {
    // read one row more than needed, to know whether there are more
    const page = await attempts.outcomesTo(ids, { beforeId, limit: limit + 1 - broadcasts });
    for (const rows of Map.groupBy(page.outcomes, ({ broadcastId }) => broadcastId).values()) {
      if (broadcasts === limit) return { outcomes, hasMore: true };
      outcomes.push(...rows);
      broadcasts += 1;
    }
    if (page.next === undefined) return { outcomes, hasMore: false };
    beforeId = page.next;
  }
}

async function print(
  output: Output,
  flags: ShowFlags,
  outcomes: readonly RowOutcome[],
  { broadcasts }: Store,
): Promise<void> {
  const byBroadcast = Map.groupBy(outcomes, ({ broadcastId }) => broadcastId);
  for (const [broadcastId, rows] of byBroadcast) {
    if (!flags.json) {
      const broadcast = await broadcasts.find(broadcastId);
      const { title = '' } = broadcast === undefined ? {} : readPayloadTexts(broadcast.payload);
      const start = broadcast === undefined ? '' : `, ${isoTime(broadcast.startAtMs)}`;
      await output.line(`\n${output.style('bold', `Broadcast ${broadcastId}`)} “${title}”${start}`);
    }
    await output.table(flags, {
      rows,
      toJson: rowOutcomeView.toJson,
      toText: (row) => `  ${row.subscriptionId}  ${row.state}: ${explain(row)}`,
    });
  }
  if (outcomes.length === 0 && !flags.json) output.diagnostic('No broadcast to it is known.');
}

function formatSubscription({
  id,
  endpoint,
  user,
  tags,
  createdAtMs,
  updatedAtMs,
}: StoredSubscription): string {
  const owner = user === undefined ? 'anonymous' : `user ${user}`;
  const tagged = tags.length === 0 ? 'no tags' : `tags ${tags.join(', ')}`;
  const times = `registered ${isoTime(createdAtMs)}, renewed ${isoTime(updatedAtMs)}`;
  return `Subscription ${id}: ${pushServiceName(endpoint)}, ${owner}, ${tagged}, ${times}`;
}
