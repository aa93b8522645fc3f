// `deskbell broadcasts show`: one broadcast in full, and its attempts on request.
import type { Command } from 'commander';
import type { AttemptRecord } from '../../store/attempts.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { formatAskedAudience, formatCreator } from '../../delivery/broadcast/describe-source.ts';
import { stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { readPayloadTexts } from '../../protocol/message/read-payload.ts';
import { attemptView } from '../../views/attempt.ts';
import { broadcastView } from '../../views/broadcast.ts';
import { summarize } from '../send/broadcast-summary.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';

interface ShowFlags {
  readonly attempts?: true;
  readonly subscription?: number;
  readonly limit: number;
  readonly json?: true;
}

export function showCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'show',
    description:
      'Prints audience, creator, counts, push services and alarms of a broadcast, and what came of each subscription.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell broadcasts show 7', 'deskbell broadcasts show 7 --attempts --subscription 4711'],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .option('--attempts', 'Also prints attempts, newest first.')
    .option('--subscription <id>', 'Prints only attempts to this subscription.', parsePositiveInteger)
    .option('--limit <count>', 'Maximum attempts.', parsePositiveInteger, 100)
    .onData(async ({ store }, id: number, flags: ShowFlags) => {
      const broadcast = await store.broadcasts.get(id);
      const since = new Date(broadcast.createdAtMs).toISOString();
      const head = `Broadcast ${id} is ${output.style('bold', stateOf(broadcast))}, created ${since}:`;
      const source = [
        `  title  ${readPayloadTexts(broadcast.payload).title}`,
        `  to     ${formatAskedAudience(broadcast.audience)}`,
        `  by     ${formatCreator(broadcast.createdBy)}`,
        '',
      ];
      const text = [head, ...source, ...summarize(broadcast, output)].join('\n');
      await output.result(flags, broadcastView.toJson(broadcast), text);
      if (!flags.attempts && flags.subscription === undefined) return;
      const records = await store.attempts.list({
        broadcastId: id,
        subscriptionId: flags.subscription,
        limit: flags.limit,
      });
      if (!flags.json) await output.line('');
      await output.table(flags, { rows: records, toJson: attemptView.toJson, toText: formatAttempt });
    });
}

function formatAttempt({ outcome, origin, status, reason, detail, ...record }: AttemptRecord): string {
  const parts = [outcome.padEnd(8), origin, status, reason, detail].filter((part) => part !== undefined);
  const { atMs, attempt, subscriptionId } = record;
  const subscription = String(subscriptionId).padStart(10);
  return `  ${new Date(atMs).toISOString()}  ${subscription}  #${attempt}  ${parts.join('  ')}`;
}
