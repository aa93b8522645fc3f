// `deskbell broadcasts`: lists, shows and controls the broadcasts of a data directory.
import type { Command } from 'commander';
import { type CountName, countNames, leftOutMeanings } from '../../delivery/broadcast/meanings.ts';
import {
  formatAskedAudience,
  formatCreator,
  isoTime,
  stateOf,
} from '../../delivery/broadcast/format-broadcast.ts';
import { measureReach } from '../../delivery/broadcast/progress.ts';
import { formatCount, formatSpan } from '../../errors/format-count.ts';
import { cutText } from '../../errors/untrusted-text.ts';
import { formatChange, readChanges } from '../../operations/audit.ts';
import { broadcastChanges, broadcastView, broadcastWithTimesToJson } from '../../operations/broadcasts.ts';
import { attemptView, csvHeader, readOutcomes, rowOutcomeView, toCsv } from '../../operations/outcomes.ts';
import { readPayloadTexts } from '../../protocol/message/read-message.ts';
import type { AttemptRecord } from '../../store/attempts.ts';
import { type Broadcast, isOver } from '../../store/broadcasts.ts';
import type { LeftOut } from '../../store/split-audience.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';
import { type Context, createCommand } from '../command.ts';
import { senderSettings } from '../configuration/configuration.ts';
import { audited, createChangeCommand, createDataCommand, processUser } from '../data/data-command.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { formatDeliveryFlags } from '../flags/message-flags.ts';
import { createCommandHint } from '../output/command-hint.ts';
import { type Column, inColumns, type JsonFlag } from '../output/output.ts';
import { compileForDelivery, openSender } from '../send/open-sender.ts';
import { runBroadcast, summarize } from '../send/run-broadcast.ts';

const defaultLimit = 20;
const maxTitle = 60;

function listCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'list',
    description:
      'Prints ID, state, recipients, counts and title of each broadcast, newest first. The number of alarms includes ' +
      'alarms that have ended.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell broadcasts list', 'deskbell broadcasts list --json | jq .counts'],
  })
    .option('--limit <count>', 'Maximum rows.', parsePositiveInteger, defaultLimit)
    .onData(async ({ store }, flags: JsonFlag & { readonly limit: number }) => {
      const rows = await store.broadcasts.list({ limit: flags.limit });
      const shown = countNames.filter(
        (name) => isAlwaysShown(name) || rows.some(({ counts }) => counts[name] !== 0),
      );
      await output.table(flags, {
        rows,
        toJson: broadcastView.toJson,
        ...columnsOf(shown),
        ifEmpty: 'No broadcasts yet.',
      });
    });
}

/** True if the count has a column even when all broadcasts have a count of 0. */
const isAlwaysShown = (name: CountName): boolean => ['accepted', 'rejected', 'pending'].includes(name);

const numberColumn = (name: string, countOf: (broadcast: Broadcast) => number): Column<Broadcast> => [
  name.toUpperCase(),
  -10,
  (broadcast) => formatCount(countOf(broadcast)),
];

const columnsOf = (shown: readonly CountName[]) =>
  inColumns<Broadcast>([
    ['ID', -6, ({ id }) => String(id)],
    ['STATE', 9, stateOf],
    ['START', 20, ({ startAtMs }) => isoTime(startAtMs).replace(/\.\d+Z$/, 'Z')],
    numberColumn('recipients', ({ recipients }) => recipients),
    ...shown.map((name) => numberColumn(name, ({ counts }) => counts[name])),
    numberColumn('alarms', ({ alarms }) => alarms.length),
    ['TITLE', 0, ({ payload }) => cutText(readPayloadTexts(payload).title, maxTitle)],
  ]);

interface ShowFlags extends JsonFlag {
  readonly attempts?: true;
  readonly subscription?: number;
  readonly limit: number;
}

function showCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'show',
    description:
      'Prints the audience, creator, options, translations, counts, push services and alarms of a broadcast. With ' +
      '--attempts, the command also prints the attempts.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell broadcasts show 7', 'deskbell broadcasts show 7 --attempts --subscription 4711'],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .option('--attempts', 'Also prints attempts, newest first.')
    .option('--subscription <id>', 'Prints only attempts to this subscription.', parsePositiveInteger)
    .option('--limit <count>', 'Maximum attempts.', parsePositiveInteger, 100)
    .onData(async ({ store }, id: number, flags: ShowFlags) => {
      const broadcast = await store.broadcasts.get(id);
      const changes = await readChanges(store, `broadcast ${id}`);
      const since = isoTime(broadcast.createdAtMs);
      const head = `Broadcast ${id} is ${output.style('bold', stateOf(broadcast))}, created ${since}:`;
      const source = [
        `  title  ${readPayloadTexts(broadcast.payload).title}`,
        `  to     ${formatAskedAudience(broadcast.audience)}`,
        `  by     ${formatCreator(broadcast.createdBy)}`,
        `  with   ${formatDeliveryFlags(broadcast)}`,
        ...textsLine(broadcast),
        ...changes.map((change) => `  ${isoTime(change.atMs)} ${formatChange(change)}`),
        '',
      ];
      const intervals = await store.statistics.outcomesOf(id);
      const leftOut = await store.broadcasts.leftOut(id);
      const others = leftOutLines(leftOut);
      const summary = [...summarize(broadcast, output), ...others, '', ...reachLines(broadcast, intervals)];
      const text = [head, ...source, ...summary].join('\n');
      await output.result(flags, broadcastWithTimesToJson(broadcast, intervals, leftOut, changes), text);
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

/** The number of recipients for each text, if the message has several languages. */
function textsLine({ texts, recipients }: Broadcast): readonly string[] {
  if (texts === undefined) return [];
  const others = texts.reduce((sum, text) => sum + text.recipients, 0);
  const parts = texts.map((text) => `${text.language}: ${formatCount(text.recipients)}`);
  return [`  texts  ${[...parts, `the message's own: ${formatCount(recipients - others)}`].join(', ')}`];
}

/** Returns a line for each reason, except for inactive readers, who are already in the summary. */
const leftOutLines = (leftOut: Readonly<Partial<Record<LeftOut, number>>>): readonly string[] =>
  Object.entries(leftOutMeanings).flatMap(([reason, meaning]) => {
    const count = leftOut[reason as LeftOut];
    return count === undefined ? [] : [`  ${formatCount(count)} left out: ${meaning}`];
  });

const reachLines = (broadcast: Broadcast, intervals: readonly OutcomeInterval[]): readonly string[] => {
  if (broadcast.recipients === 0 && broadcast.state !== 'preparing')
    return ['  reached nobody: the audience was empty'];
  return measureReach(broadcast, intervals).map(({ percent, seconds, precisionSeconds = 0 }) =>
    seconds === undefined
      ? `  ${percent} % of the recipients were ${isOver(broadcast) ? 'never reached' : 'not reached yet'}`
      : `  ${percent} % of the recipients were reached after ${formatSpan(seconds)} at the latest, exact to ${formatSpan(precisionSeconds)}`,
  );
};

function formatAttempt({ outcome, origin, status, reason, detail, ...record }: AttemptRecord): string {
  const parts = [outcome.padEnd(8), origin, status, reason, detail].filter((part) => part !== undefined);
  const { atMs, attempt, subscriptionId } = record;
  const subscription = String(subscriptionId).padStart(10);
  return `  ${isoTime(atMs)}  ${subscription}  #${attempt}  ${parts.join('  ')}`;
}

function outcomesCommand({ environment, output, stopPrinting }: Context): Command {
  return createDataCommand(environment, {
    name: 'outcomes',
    description:
      'Prints the outcome for each subscription in a broadcast, as CSV. The command prints one line for each ' +
      'subscription that was in the audience and in the store, without endpoints and keys.',
    json: 'Prints JSON Lines, with every attempt.',
    examples: [
      'deskbell broadcasts outcomes 7 > outcomes.csv',
      'deskbell broadcasts outcomes 7 --json | jq .state',
    ],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .onData(async ({ store }, id: number, { json }: JsonFlag) => {
      await store.broadcasts.get(id);
      if (!json) await output.line(toLines(csvHeader));
      for await (const outcomes of readOutcomes(store.attempts, id)) {
        stopPrinting.throwIfAborted();
        const lines = json
          ? outcomes.map((outcome) => JSON.stringify(rowOutcomeView.toJson(outcome))).join('\n')
          : toLines(toCsv(outcomes));
        await output.line(lines);
      }
    });
}

/** Replaces CSV's line ends with plain newlines; no field contains a line end. */
const toLines = (csv: string): string => csv.trimEnd().replaceAll('\r', '');

function resumeCommand(context: Context): Command {
  return createDataCommand(context.environment, {
    name: 'resume',
    description:
      'Resumes a broadcast. You can resume a broadcast that was paused, or a broadcast that stopped because its ' +
      'process ended. The command shows the broadcast’s progress.',
    settings: senderSettings,
    json: 'Prints JSON Lines: events, then the summary.',
    examples: ['deskbell broadcasts resume 7 --subject mailto:you@example.org'],
  })
    .argument('<id>', 'Broadcast ID.', parsePositiveInteger)
    .onData(async (data, id: number, flags: JsonFlag) => {
      compileForDelivery();
      await using sender = await openSender(data.configuration, data, context, { json: flags.json });
      const change = { operator: processUser(), action: 'broadcast.resume', target: `broadcast ${id}` };
      const run = await audited(data.store, change, () => sender.resume(id));
      await runBroadcast(run, data.store, context, {
        json: flags.json ?? false,
        hint: createCommandHint(context, flags),
      });
    });
}

export function broadcastsCommand(context: Context): Command {
  return createCommand({
    name: 'broadcasts',
    description: 'Lists, shows, pauses, resumes and cancels broadcasts.',
    examples: ['deskbell broadcasts list', 'deskbell broadcasts show 7'],
  })
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(outcomesCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(controlCommand(context, 'pause'))
    .addCommand(controlCommand(context, 'cancel'));
}

/** Pauses or cancels a broadcast, whichever process delivers it. */
const controlCommand = (context: Context, name: 'pause' | 'cancel'): Command =>
  createChangeCommand(context, broadcastChanges[name], {
    name,
    examples: [`deskbell broadcasts ${name} 7`],
    argument: 'Broadcast ID.',
    toText: (broadcast, { id }) =>
      `Broadcast ${id} is ${stateOf(broadcast)}; ${formatCount(broadcast.counts.accepted)} of ${formatCount(broadcast.recipients)} accepted.`,
  });
