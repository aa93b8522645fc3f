// Shows the progress and the summary of a broadcast. On a terminal, one line shows the progress and is redrawn.
// Otherwise, a new line appears every few seconds if anything has changed, or JSON events are printed. The summary has
// counts that add up to the audience, and alarms.
import {
  byPushService,
  formatAlarm,
  formatReached,
  formatShare,
  isoTime,
  nameBroadcast,
  nonZeroCounts,
  reachedShare,
  shareOfAccepted,
  stateOf,
  totalReceipts,
} from '../../delivery/broadcast/format-broadcast.ts';
import { countMeanings, inactiveMeaning, receiptMeanings } from '../../delivery/broadcast/meanings.ts';
import { formatWait, type Progress, waitsByService } from '../../delivery/broadcast/progress.ts';
import { alarmKey, formatReachability, watchPushServices } from '../../delivery/broadcast/watch.ts';
import type { BroadcastRun } from '../../delivery/sender-interface.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf, formatCount, formatSpan } from '../../errors/format-count.ts';
import { alarmToJson } from '../../operations/alarms.ts';
import { broadcastToJson, progressToJson } from '../../operations/broadcasts.ts';
import {
  type Broadcast,
  type BroadcastStore,
  isOver,
  type OriginCounts,
  settlements,
} from '../../store/broadcasts.ts';
import { type ReceiptEvent, receiptEvents } from '../../store/receipts.ts';
import type { Store } from '../../store/store.ts';
import type { Context } from '../command.ts';
import type { CommandHint } from '../output/command-hint.ts';
import type { Output } from '../output/output.ts';

/** @returns lines to print */
export function summarize(broadcast: Broadcast, { style }: Pick<Output, 'style'>): readonly string[] {
  const { recipients, inactive, skipInactive, alarms } = broadcast;
  const width = formatCount(recipients).length;
  const line: CountLine = (count, name, meaning) =>
    `  ${formatCount(count).padStart(width)} ${name.padEnd(9)}  ${style('dim', meaning)}`;
  return [
    ...nonZeroCounts(broadcast).map(([name, count]) => line(count, name, countMeanings[name])),
    `  ${formatCount(recipients)} in total`,
    ...(inactive === undefined ? [] : [line(inactive, 'left out', inactiveMeaning(skipInactive))]),
    ...receiptLines(broadcast, line),
    ...originTable(broadcast, { style }),
    ...alarms.map((alarm) => style('red', `  ! ${formatAlarm(alarm)}: ${countOf(alarm.rows, 'message')}`)),
  ];
}

type CountLine = (count: number, name: string, meaning: string) => string;

/** Returns lines with the receipts for accepted messages. Receipts do not count towards the audience. */
function receiptLines(broadcast: Broadcast, line: CountLine): readonly string[] {
  const total = totalReceipts(broadcast);
  if (total === undefined) return [];
  return [
    '',
    ...receiptEvents.map((event) =>
      line(total[event], event, describeReceipt(event, total[event], broadcast)),
    ),
    ...Object.entries(total.actions).map(([action, count]) => line(count, '', `on the action ${action}`)),
  ];
}

/** `81.2 % of the accepted: the browser showed the notification` */
function describeReceipt(event: ReceiptEvent, count: number, broadcast: Broadcast): string {
  const share = shareOfAccepted(count, broadcast);
  return share === undefined
    ? receiptMeanings[event]
    : `${formatShare(share)} of the accepted, ${receiptMeanings[event]}`;
}

function originTable(
  { counts, origins, receipts }: Broadcast,
  { style }: Pick<Output, 'style'>,
): readonly string[] {
  if (origins.length === 0) return [];
  const columns = settlements.filter((name) => counts[name] > 0);
  const reported = receipts === undefined ? [] : receiptEvents;
  const services = byPushService(origins);
  const reports = byPushService(receipts ?? []);
  const width = Math.max(12, ...services.map(({ origin }) => origin.length));
  return [
    '',
    style('dim', `  ${'PUSH SERVICE'.padEnd(width)}${cells([...columns, 'attempts', ...reported])}`),
    ...services.map((service) => {
      const counted = reports.find(({ origin }) => origin === service.origin);
      const events = reported.map((event) => counted?.[event] ?? 0);
      const numbers = [...columns.map((name) => service[name]), service.attempts, ...events].map(formatCount);
      return `  ${service.origin.padEnd(width)}${cells(numbers)}`;
    }),
  ];
}

const cells = (values: readonly string[]): string => values.map((value) => value.padStart(11)).join('');

/** `[#####·····]  48 %  480,000 of 1,000,000  16,200/s  32 s left  fcm.googleapis.com: 479,000 accepted …` */
export function formatProgress({ broadcast, ratePerSecond, etaSeconds, nextPartAtMs }: Progress): string {
  if (broadcast.state === 'preparing') return formatPreparation(broadcast);
  const width = 20;
  const bar = '#'.repeat(Math.floor((reachedShare(broadcast) ?? 0) * width)).padEnd(width, '·');
  return [
    `[${bar}] ${formatReached(broadcast)}`,
    `${formatCount(broadcast.counts.accepted)} of ${formatCount(broadcast.recipients)} reached`,
    `${formatCount(ratePerSecond)}/s`,
    ...(etaSeconds === undefined ? [] : [`${formatSpan(etaSeconds)} left`]),
    ...(nextPartAtMs === undefined ? [] : [`the next part starts at ${isoTime(nextPartAtMs)}`]),
    ...waitsByService(broadcast).flatMap((wait) => (wait.for === 'now' ? [] : formatWait(wait))),
    ...byPushService(broadcast.origins).map(formatService),
  ].join('  ');
}

/** `Broadcast 7 is preparing: 480,000 subscriptions found so far` */
export const formatPreparation = ({ id, recipients }: Broadcast): string =>
  `Broadcast ${id} is preparing: ${countOf(recipients, 'subscription')} found so far`;

function formatService(counts: OriginCounts): string {
  const parts = settlements.filter((name) => counts[name] > 0);
  return `${counts.origin}: ${parts.map((name) => `${formatCount(counts[name])} ${name}`).join(', ') || 'none settled yet'}`;
}

/** How often a progress line is printed if the output is not a terminal. */
const plainEveryMs = 5000;
const jsonEveryMs = 1000;

export async function showProgress(
  run: BroadcastRun,
  output: Context['output'],
  json: boolean,
): Promise<void> {
  const everyMs = json ? jsonEveryMs : plainEveryMs;
  const shownAlarms = new Set<string>();
  let shown = '';
  let nextMs = performance.now() + everyMs;
  for await (const progress of run.progress()) {
    for (const alarm of progress.broadcast.alarms) {
      if (shownAlarms.has(alarmKey(alarm))) continue;
      shownAlarms.add(alarmKey(alarm));
      if (json) await output.line(event('alarm', alarmToJson(alarm)));
      else output.diagnostic(`deskbell: ${formatAlarm(alarm)}`);
    }
    if (progress.broadcast.recipients === 0) continue;
    if (!json && output.isTerminal) output.live(formatProgress(progress));
    else if (performance.now() >= nextMs) {
      nextMs = performance.now() + everyMs;
      const text = json ? event('progress', progressToJson(progress)) : formatProgress(progress);
      if (text !== shown) await output.line(text);
      shown = text;
    }
  }
}

const event = (name: string, fields: object): string => JSON.stringify({ event: name, ...fields });

// Runs a broadcast that this process delivers, and shows its start, progress and summary. Ctrl-C pauses it.

/** @throws {DeskbellError} ERR_BROADCAST_UNFINISHED, ERR_NOT_ACCEPTED */
export function assertDelivered({ id, state, counts }: Broadcast): void {
  if (state === 'cancelled')
    throw new DeskbellError('ERR_BROADCAST_UNFINISHED', `Broadcast ${id} was cancelled`);
  if (state !== 'done') {
    throw new DeskbellError(
      'ERR_BROADCAST_UNFINISHED',
      `Broadcast ${id} is ${state} with ${countOf(counts.pending, 'message')} pending`,
    );
  }
  const failed = counts.rejected + counts.expired + counts.exhausted + counts.doubtful;
  if (failed === 0) return;
  throw new DeskbellError(
    'ERR_NOT_ACCEPTED',
    `${countOf(failed, 'message')} ${failed === 1 ? 'was' : 'were'} not accepted`,
  );
}

/**
 * @throws {DeskbellError} ERR_BROADCAST_UNFINISHED if the broadcast was paused or cancelled, ERR_NOT_ACCEPTED if
 *   messages to live subscriptions were not accepted
 */
export async function runBroadcast(
  run: BroadcastRun,
  store: Pick<Store, 'broadcasts' | 'senders'>,
  { output, stop }: Pick<Context, 'output' | 'stop'>,
  { json, hint }: { readonly json: boolean; readonly hint: CommandHint },
): Promise<void> {
  const { id } = run.broadcast;
  const started = { event: 'broadcast', isNew: run.isNew, ...broadcastToJson(run.broadcast) };
  await output.result({ json }, started, formatStart(run));

  let pausing: Promise<void> | undefined;
  const pause = (): void => {
    output.live('');
    output.diagnostic('Pausing: waiting for the messages in flight. Press Ctrl-C again to exit immediately.');
    pausing = pauseUnlessOver(store.broadcasts, id).finally(() => run.stop());
    pausing.catch(() => {});
  };
  const shown = new AbortController();
  const reportReachability = async (): Promise<void> => {
    // errors are ignored here, because the broadcast itself fails if the store cannot be read
    for await (const reachability of watchPushServices(store.senders, shown.signal, () => {}))
      output.diagnostic(`deskbell: ${formatReachability(reachability)}`);
  };
  stop.addEventListener('abort', pause, { once: true });
  if (stop.aborted) pause();
  try {
    await Promise.all([showProgress(run, output, json).finally(() => shown.abort()), reportReachability()]);
    const broadcast = await run.finished;
    await pausing;
    await showEnd(broadcast, output, json);
    if (!isOver(broadcast)) {
      output.diagnostic(`To resume it:\n  ${hint(`broadcasts resume ${id}`)}`);
    }
    assertDelivered(broadcast);
  } finally {
    stop.removeEventListener('abort', pause);
    output.live('');
  }
}

const toNobody =
  'Nobody is in the audience, so nothing was sent. "deskbell subscriptions list" shows who has subscribed.';

async function showEnd(broadcast: Broadcast, output: Context['output'], json: boolean): Promise<void> {
  output.live('');
  if (json) return output.line(JSON.stringify({ event: 'summary', ...broadcastToJson(broadcast) }));
  if (broadcast.recipients === 0) return output.line(toNobody);
  const { finishedAtMs = Date.now(), startAtMs, createdAtMs } = broadcast;
  const seconds = Math.max(0.001, (finishedAtMs - Math.max(startAtMs, createdAtMs)) / 1000);
  const time = broadcast.state === 'done' ? ` in ${formatSpan(seconds)}` : '';
  await output.line(`Broadcast ${broadcast.id} is ${output.style('bold', stateOf(broadcast))}${time}:`);
  for (const line of summarize(broadcast, output)) await output.line(line);
}

function formatStart({ broadcast, isNew }: BroadcastRun): string {
  if (broadcast.state === 'preparing') return `${formatPreparation(broadcast)}.`;
  if (isNew) return `${nameBroadcast(broadcast)}.`;
  const next = broadcast.state === 'running' ? ' Continuing.' : '';
  return `${nameBroadcast(broadcast)} is already ${stateOf(broadcast)}.${next}`;
}

async function pauseUnlessOver(store: BroadcastStore, id: number): Promise<void> {
  await store.pause(id).catch((error: unknown) => {
    if (!(error instanceof DeskbellError && error.code === 'ERR_BROADCAST_STATE')) throw error;
  });
}
