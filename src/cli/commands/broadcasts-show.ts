// `deskbell broadcasts show`: one broadcast in full, and its attempts on request.
import type { Command } from 'commander';
import { formatCount } from '../../errors/format-count.ts';
import type { AttemptRecord } from '../../store/attempts.ts';
import { isOver, type Broadcast } from '../../store/broadcasts.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { formatDeliveryFlags } from '../flags/delivery-flags.ts';
import { formatAskedAudience, formatCreator } from '../../delivery/broadcast/describe-source.ts';
import { formatDuration, isoTime, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { measureReach } from '../../delivery/broadcast/reach-times.ts';
import { readPayloadTexts } from '../../protocol/message/read-payload.ts';
import { attemptView } from '../../operations/attempt.ts';
import { broadcastWithTimesToJson } from '../../operations/broadcast.ts';
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
      'Prints audience, creator, options, texts, counts, push services and alarms of a broadcast, and what came of each subscription.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell broadcasts show 7', 'deskbell broadcasts show 7 --attempts --subscription 4711'],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .option('--attempts', 'Also prints attempts, newest first.')
    .option('--subscription <id>', 'Prints only attempts to this subscription.', parsePositiveInteger)
    .option('--limit <count>', 'Maximum attempts.', parsePositiveInteger, 100)
    .onData(async ({ store }, id: number, flags: ShowFlags) => {
      const broadcast = await store.broadcasts.get(id);
      const since = isoTime(broadcast.createdAtMs);
      const head = `Broadcast ${id} is ${output.style('bold', stateOf(broadcast))}, created ${since}:`;
      const source = [
        `  title  ${readPayloadTexts(broadcast.payload).title}`,
        `  to     ${formatAskedAudience(broadcast.audience)}`,
        `  by     ${formatCreator(broadcast.createdBy)}`,
        `  with   ${formatDeliveryFlags(broadcast)}`,
        ...textsLine(broadcast),
        '',
      ];
      const intervals = await store.statistics.outcomesOf(id);
      const summary = [...summarize(broadcast, output), '', ...reachLines(broadcast, intervals)];
      const text = [head, ...source, ...summary].join('\n');
      await output.result(flags, broadcastWithTimesToJson(broadcast, intervals), text);
      if (!flags.attempts && flags.subscription === undefined) return;
      const { limit } = flags;
      const found = await store.attempts.list({
        broadcastId: id,
        subscriptionId: flags.subscription,
        limit: limit + 1,
      });
      const records = found.slice(0, limit);
      if (!flags.json) await output.line('');
      await output.table(flags, { rows: records, toJson: attemptView.toJson, toText: formatAttempt });
      if (found.length > limit) output.diagnostic(`These are the newest ${limit}; --limit gives more.`);
    });
}

/** How many get which text, where it differs by language. */
function textsLine({ texts, recipients }: Broadcast): readonly string[] {
  if (texts === undefined) return [];
  const others = texts.reduce((sum, text) => sum + text.recipients, 0);
  const parts = texts.map((text) => `${text.language}: ${formatCount(text.recipients)}`);
  return [`  texts  ${[...parts, `the message's own: ${formatCount(recipients - others)}`].join(', ')}`];
}

const reachLines = (broadcast: Broadcast, intervals: readonly OutcomeInterval[]): readonly string[] =>
  measureReach(broadcast, intervals).map(({ percent, seconds, precisionSeconds = 0 }) =>
    seconds === undefined
      ? `  ${percent} % of the recipients have had no outcome ${isOver(broadcast) ? 'at all' : 'yet'}`
      : `  ${percent} % of the recipients had an outcome after ${formatDuration(seconds)} at the latest, exact to ${formatDuration(precisionSeconds)}`,
  );

function formatAttempt({ outcome, origin, status, reason, detail, ...record }: AttemptRecord): string {
  const parts = [outcome.padEnd(8), origin, status, reason, detail].filter((part) => part !== undefined);
  const { atMs, attempt, subscriptionId } = record;
  const subscription = String(subscriptionId).padStart(10);
  return `  ${isoTime(atMs)}  ${subscription}  #${attempt}  ${parts.join('  ')}`;
}
