// Formats a broadcast, its requested audience and its creator as text, for the command line, logs and the console.
import { hostname } from 'node:os';
import {
  checkOptions,
  isText,
  isWholeNumber,
  lookUp,
  type OptionChecks,
  wrong,
} from '../../errors/check-options.ts';
import { countOf, formatCount } from '../../errors/format-count.ts';
import type {
  Alarm,
  AskedAudience,
  Broadcast,
  BroadcastCreator,
  BroadcastState,
  ListKind,
} from '../../store/broadcasts.ts';
import { heldDeletionsReason } from '../../store/held-deletions.ts';
import type { ReceiptCounts, ReceiptEvent } from '../../store/receipts.ts';
import { notListedReason } from '../limits/not-sent.ts';
import { chromeLimitReason } from '../limits/rate-limits.ts';
import { type CountName, countNames, groupMeanings } from './meanings.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';

/** Returns the counts that are not 0, in display order. */
export function nonZeroCounts({ counts }: Broadcast): readonly (readonly [CountName, number])[] {
  return countNames.map((name) => [name, counts[name]] as const).filter(([, count]) => count !== 0);
}

/** Number of rows that have a final outcome or whose subscription was removed. Cancelled rows do not count. */
export const settledRows = ({ recipients, counts }: Pick<Broadcast, 'recipients' | 'counts'>): number =>
  recipients - counts.pending - counts.cancelled;

/** The share of recipients whose push service accepted the message, 0 to 1; `undefined` if there are no recipients. */
export const reachedShare = ({
  recipients,
  counts,
}: Pick<Broadcast, 'recipients' | 'counts'>): number | undefined =>
  recipients === 0 ? undefined : counts.accepted / recipients;

/**
 * Formats the share of recipients reached, such as `48 %`. Shows 100 % only if all recipients are reached, 0 % only if
 * no recipient is reached, and `–` if there are none.
 */
export function formatReached(broadcast: Pick<Broadcast, 'recipients' | 'counts'>): string {
  const share = reachedShare(broadcast);
  if (share === undefined) return '–';
  return share > 0 && share < 0.01 ? 'below 1 %' : `${Math.floor(share * 100)} %`;
}

/** Adds up the receipts of all push services; `undefined` if the broadcast does not request receipts. */
export function totalReceipts({
  receipts,
}: Pick<Broadcast, 'receipts'>): Omit<ReceiptCounts, 'origin'> | undefined {
  if (receipts === undefined) return undefined;
  const actions = new Map<string, number>();
  for (const counts of receipts) {
    for (const [name, count] of Object.entries(counts.actions))
      actions.set(name, (actions.get(name) ?? 0) + count);
  }
  const sumOf = (event: ReceiptEvent) => receipts.reduce((sum, counts) => sum + counts[event], 0);
  return {
    shown: sumOf('shown'),
    clicked: sumOf('clicked'),
    dismissed: sumOf('dismissed'),
    actions: Object.fromEntries(actions),
  };
}

/** The share of the accepted messages that have a given receipt, 0 to 1; `undefined` if no message was accepted. */
export const shareOfAccepted = (
  reported: number,
  { counts }: Pick<Broadcast, 'counts'>,
): number | undefined => (counts.accepted === 0 ? undefined : reported / counts.accepted);

/** Formats a share, such as `81.2 %`. Shows `0.0 %` only for none and `100.0 %` only for all. */
export const formatShare = (share: number): string => {
  const percent = share > 0 && share < 1 ? Math.min(99.9, Math.max(0.1, share * 100)) : share * 100;
  return `${percent.toFixed(1)} %`;
};

/** Returns the state to show. A running broadcast that has not started yet is shown as `scheduled`. */
export function stateOf({
  state,
  isScheduled,
}: Pick<Broadcast, 'state' | 'isScheduled'>): BroadcastState | 'scheduled' {
  return isScheduled ? 'scheduled' : state;
}

/** For example `Broadcast 7 is paused`. */
export const describeState = (broadcast: Broadcast): string =>
  `Broadcast ${broadcast.id} is ${stateOf(broadcast)}`;

/** For example `Broadcast 7 to 1,000 subscriptions`. */
export const nameBroadcast = ({ id, recipients }: Pick<Broadcast, 'id' | 'recipients'>): string =>
  `Broadcast ${id} to ${countOf(recipients, 'subscription')}`;

/** For example `Broadcast 7 to 1,000 subscriptions is done: 990 accepted, 10 rejected.` */
export function formatState(broadcast: Broadcast): string {
  const counts = nonZeroCounts(broadcast).map(([name, count]) => `${formatCount(count)} ${name}`);
  const details = counts.length === 0 ? '' : `: ${counts.join(', ')}`;
  return `${nameBroadcast(broadcast)} is ${stateOf(broadcast)}${details}.`;
}

/** Alarms whose details are already full sentences. */
const sentences: ReadonlySet<string> = new Set([heldDeletionsReason, chromeLimitReason, notListedReason]);

/** Reasons that prevent sending. The details of their alarms already name the host. */
const obstacles: ReadonlySet<string> = new Set(['connection', 'sender-fault']);

/** For example `fcm.googleapis.com refuses our token or key: vapid-refused (BadJwtToken)`. */
export function formatAlarm({ origin, reason, detail }: Pick<Alarm, 'origin' | 'reason' | 'detail'>): string {
  if (origin === '') return `${detail} (${reason})`;
  if (reason === 'address-blocked') return detail;
  if (obstacles.has(reason)) return `${detail.replace(/\.$/, '')}; its messages wait`;
  if (sentences.has(reason)) return `${pushServiceName(origin)}: ${detail}`;
  const verb = reason === 'vapid-refused' ? 'refuses our token or key' : 'rejects messages';
  return `${pushServiceName(origin)} ${verb}: ${reason}${detail === '' ? '' : ` (${detail})`}`;
}

/** Adds up counts by push service, combining its hosts. @returns the push service's name as `origin` */
export function byPushService<Counts extends { readonly origin: string }>(
  all: readonly Counts[],
): readonly Counts[] {
  const services = Map.groupBy(all, ({ origin }) => pushServiceName(origin));
  return Array.from(services, ([origin, same]) => ({ ...same.reduce(addCounts), origin }));
}

const addCounts = <Counts extends object>(one: Counts, other: Counts): Counts =>
  Object.fromEntries(
    Object.entries(one).map(([name, value]) => [
      name,
      typeof value === 'number' ? value + lookUp(other as Record<string, number>, name)! : value,
    ]),
  ) as Counts;

export const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();

export const isoTimeOf = (timeMs: number | undefined): string | undefined =>
  timeMs === undefined ? undefined : isoTime(timeMs);

const notRecorded = 'not recorded';

const listTexts: Readonly<Record<ListKind, string>> = {
  ids: 'a list of subscription ids',
  subscriptions: 'a list of given subscriptions',
};

/** For example `every subscription`, `the user "42" with all of the tags news, de` or `those who saw broadcast 7`. */
export function formatAskedAudience(audience: AskedAudience | undefined): string {
  if (audience === undefined) return notRecorded;
  if (audience === 'all') return 'every subscription';
  if ('list' in audience) return listTexts[audience.list];
  if ('broadcast' in audience) return `${groupMeanings[audience.outcome]} broadcast ${audience.broadcast}`;
  const { user, tags = {} } = audience;
  const parts = [
    ['all of the tags', tags.all],
    ['one of the tags', tags.any],
    ['none of the tags', tags.none],
  ] as const;
  const tagTexts = parts.flatMap(([words, names = []]) =>
    names.length === 0 ? [] : [`${words} ${names.join(', ')}`],
  );
  const whose = user === undefined ? 'subscriptions' : `the user ${JSON.stringify(user)}`;
  return tagTexts.length === 0 ? whose : `${whose} with ${tagTexts.join(' and ')}`;
}

/** For example `the operator ada`, `the command line on push-1`, `schedule 3` or `the bell blog`. */
export function formatCreator(creator: BroadcastCreator | undefined): string {
  if (creator === undefined) return notRecorded;
  if ('operator' in creator) return `the operator ${creator.operator}`;
  if ('commandLine' in creator) return `the command line on ${creator.commandLine}`;
  if ('schedule' in creator) return `schedule ${creator.schedule}`;
  if ('bell' in creator) return `the bell ${creator.bell}`;
  return `the application ${creator.application}`;
}

export const thisApplication = (): BroadcastCreator => ({ application: hostname() });

export const thisCommandLine = (): BroadcastCreator => ({ commandLine: hostname() });

const creatorChecks: OptionChecks<
  Record<'operator' | 'commandLine' | 'schedule' | 'bell' | 'application', unknown>
> = {
  operator: isText,
  commandLine: isText,
  schedule: isWholeNumber(1),
  bell: isText,
  application: isText,
};

/** Maximum number of characters. */
const maxNameLength = 200;

/** @throws {DeskbellError} ERR_MESSAGE_INVALID */
export function checkCreator(creator: unknown, name: string): void {
  const code = 'ERR_MESSAGE_INVALID';
  checkOptions(creator, creatorChecks, { code, name });
  const [value, ...others] = Object.values(creator);
  if (value === undefined || others.length > 0)
    throw wrong(name, `must have one of ${Object.keys(creatorChecks).join(', ')}`, { code });
  if (typeof value !== 'string' || (value !== '' && value.length <= maxNameLength)) return;
  throw wrong(name, `must be a name of 1 to ${maxNameLength} characters`, { code });
}
