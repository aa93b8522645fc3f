// `deskbell send` with an audience: stores a broadcast, then delivers it or leaves it to a worker. If the audience is
// one subscription, prints one line with the outcome.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Audience } from '../../delivery/broadcast/audience.ts';
import { countAudience } from '../../delivery/broadcast/estimate-audience.ts';
import {
  isoTime,
  nameBroadcast,
  stateOf,
  thisCommandLine,
} from '../../delivery/broadcast/format-broadcast.ts';
import type { SendResult } from '../../delivery/sender.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { broadcastToJson } from '../../operations/broadcasts.ts';
import { sentMessageToJson } from '../../operations/message.ts';
import { scheduleView } from '../../operations/schedules.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { Broadcast, BroadcastStore, OutcomeGroup } from '../../store/broadcasts.ts';
import type { DeliveryOptions } from '../../store/delivery-options.ts';
import { hasReaderTimes } from '../../store/reader-times.ts';
import type { Store } from '../../store/store.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import type { Context } from '../command.ts';
import type { Configuration } from '../configuration/configuration.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { expressionOf, type PeopleFlags } from '../flags/arguments.ts';
import { readDeliveryFlags } from '../flags/message-flags.ts';
import { readInput } from '../input/read-input.ts';
import { splitLines } from '../input/split-table.ts';
import { maxLineCharacters, parseLine } from '../input/subscription-line.ts';
import { createCommandHint } from '../output/command-hint.ts';
import type { JsonFlag, Output } from '../output/output.ts';
import { compileForDelivery, openSender } from './open-sender.ts';
import { formatPreparation, runBroadcast } from './run-broadcast.ts';

const colours = { accepted: 'green', gone: 'yellow', retry: 'yellow', rejected: 'red' } as const;

export function printSendResult(
  output: Output,
  { id, endpoint }: StoredSubscription,
  result: SendResult,
  flags: JsonFlag,
): Promise<void> {
  const sent = sentMessageToJson(id, endpoint, result);
  const { pushService, outcome, status, reason, detail, retryAfterSeconds: seconds } = sent;
  const why = outcome === 'gone' ? 'removed' : reason;
  const later = seconds === undefined ? undefined : `try again in ${seconds} s`;
  const parts = [pushService, status, why, detail, later].filter((part) => part !== undefined);
  const kind = output.style(colours[outcome], outcome.padEnd(8));
  return output.result(flags, sent, `${kind} ${String(id).padStart(6)}  ${parts.join('  ')}`);
}

const lookEveryMs = 250;

export interface BroadcastFlags extends PeopleFlags {
  readonly all?: true;
  readonly ids?: readonly number[];
  readonly broadcast?: number;
  readonly outcome?: OutcomeGroup;
  /** A file of JSON Lines; `-` is standard input. */
  readonly file?: string;
  readonly idempotencyKey?: string;
  readonly at?: Date;
  readonly cron?: string;
  readonly timezone?: string;
  readonly localTime?: string;
  readonly quietHours?: string;
  readonly detach?: true;
  readonly json?: true;
}

/**
 * @throws {DeskbellError} the errors of `runBroadcast`, `Sender.broadcast` and `Sender.createSchedule`;
 *   ERR_LINES_REFUSED, ERR_FILE; ERR_SUBSCRIPTION_NOT_FOUND for a user without a subscription
 */
export async function sendBroadcast(
  flags: BroadcastFlags,
  message: Message,
  data: DataDirectory,
  configuration: Configuration,
  context: Context,
): Promise<void> {
  const hint = createCommandHint(context, flags);
  const options = { ...withOwnZone(readDeliveryFlags(flags)), receipts: configuration.receipts };
  compileForDelivery();
  await using sender = await openSender(configuration, data, context, { json: flags.json });
  if (flags.cron !== undefined) {
    const { cron, timezone } = flags;
    const times = { ...options, timeZone: undefined, cron, timezone, createdBy: thisCommandLine() };
    const schedule = await sender.createSchedule(expressionOf(flags) ?? 'all', message, times);
    await context.output.result(
      flags,
      { event: 'schedule', ...scheduleView.toJson(schedule) },
      `Schedule ${schedule.id} sends first at ${isoTime(schedule.nextAtMs)}.`,
    );
    await hintAtWorkers(data.store, flags, context.output, 'It needs one of these to be running', [
      hint('worker'),
      hint('serve --deliver'),
    ]);
    if ((await data.store.sending.findPause()) === undefined) return;
    return context.output.diagnostic(
      `Sending is paused, so that nothing is sent by schedules until this command:\n  ${hint('sending resume')}`,
    );
  }
  const audience = audienceOf(flags, configuration, context);
  await assertHasDevice(flags, data.store);
  const broadcastOptions = {
    ...options,
    idempotencyKey: flags.idempotencyKey,
    startAt: flags.at,
    createdBy: thisCommandLine(),
  };
  const isForLater = flags.at !== undefined && flags.at.getTime() > data.store.now();
  if (flags.detach || isForLater) {
    const { isNew, ...stored } = await sender.createBroadcast(audience, message, broadcastOptions);
    const broadcast = await waitUntilPrepared(stored.broadcast, data.store.broadcasts, context);
    await context.output.result(
      flags,
      { event: 'broadcast', isNew, ...broadcastToJson(broadcast) },
      formatStored(broadcast, isNew),
    );
    const commands = ['worker', 'serve --deliver', `broadcasts resume ${broadcast.id}`].map(hint);
    await hintAtWorkers(data.store, flags, context.output, 'To deliver it, run one of these', commands);
  } else {
    const run = await sender.broadcast(audience, message, broadcastOptions);
    await runBroadcast(run, data.store, context, { json: flags.json ?? false, hint });
  }
}

/** Uses this machine's time zone if no other is given. */
export function withOwnZone(options: DeliveryOptions): DeliveryOptions {
  if (!hasReaderTimes(options)) return options;
  return { timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone, ...options };
}

/** Fails if a user has no subscription, since the name is probably misspelt. A tag may have no subscribers yet. */
async function assertHasDevice({ user, tag, anyTag, notTag }: BroadcastFlags, store: Store): Promise<void> {
  if (user === undefined || [tag, anyTag, notTag].some((tags) => tags !== undefined)) return;
  if ((await countAudience({ user }, store)) > 0) return;
  throw new DeskbellError(
    'ERR_SUBSCRIPTION_NOT_FOUND',
    `The user ${JSON.stringify(user)} has no subscription, so nothing was sent; give the user as "subscriptions list" shows it`,
  );
}

/** Waits until the audience is complete, and shows progress. If stopped, leaves the rest to a process that delivers. */
async function waitUntilPrepared(
  stored: Broadcast,
  broadcasts: BroadcastStore,
  { output, stop }: Context,
): Promise<Broadcast> {
  let broadcast = stored;
  while (broadcast.state === 'preparing' && !stop.aborted) {
    output.live(formatPreparation(broadcast));
    await sleep(lookEveryMs, undefined, { signal: stop }).catch(() => {});
    broadcast = await broadcasts.get(broadcast.id);
  }
  output.live('');
  return broadcast;
}

/** @throws {DeskbellError} ERR_CONFIGURATION; reading the file throws ERR_LINES_REFUSED, ERR_FILE */
export function audienceOf(
  { ids, file, broadcast, outcome = 'accepted', ...people }: BroadcastFlags,
  { pushServices }: Configuration,
  context: Context,
): Audience {
  if (ids !== undefined) return { ids };
  if (broadcast !== undefined) return { broadcast, outcome };
  if (file === undefined) return expressionOf(people) ?? 'all';
  return { subscriptions: readSubscriptions(file, pushServices, context) };
}

/** Reads the subscriptions of a list. An invalid line fails before anything is sent, so no list is sent in part. */
async function* readSubscriptions(
  file: string,
  pushServices: readonly string[],
  context: Context,
): AsyncGenerator<Subscription> {
  const policy = createEndpointPolicy(pushServices);
  for await (const { number, text } of splitLines(readInput(file, context), maxLineCharacters)) {
    if (text?.trim() !== '') yield readLine(number, () => parseLine(text, policy));
  }
}

function readLine(number: number, parse: () => Subscription): Subscription {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof DeskbellError)) throw cause;
    throw new DeskbellError(
      'ERR_LINES_REFUSED',
      `Line ${number} is not a subscription: ${cause.message.replace(/\.$/, '')}; nothing was sent`,
      { cause },
    );
  }
}

function formatStored(broadcast: Broadcast, isNew: boolean): string {
  const state = stateOf(broadcast);
  const time = state === 'scheduled' ? ` for ${isoTime(broadcast.startAtMs)}` : '';
  return `${nameBroadcast(broadcast)} is ${isNew ? '' : 'already '}${state}${time}.`;
}

/** Prints commands that start a worker, if no process delivers broadcasts. */
async function hintAtWorkers(
  { senders }: Store,
  { json }: BroadcastFlags,
  output: Output,
  what: string,
  commands: readonly string[],
): Promise<void> {
  // The broadcast is already stored, so an error here must not fail the command.
  const found = await senders.list().catch(() => []);
  if (json || found.some(({ kind }) => kind === 'worker')) return;
  output.diagnostic([`${what}:`, ...commands].join('\n  '));
}
