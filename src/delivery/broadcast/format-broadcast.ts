// A broadcast as text, the same wherever it is shown: command line, logs, console. As JSON: views/broadcast.ts.
import { type Alarm, type Broadcast, type BroadcastState } from '../../store/broadcasts.ts';
import { heldDeletionsReason } from '../../store/held-deletions.ts';
import type { ReceiptCounts, ReceiptEvent } from '../../store/receipts.ts';
import { chromeLimitReason } from '../limits/chrome-limit.ts';
import { notListedReason } from '../message-path/not-sent.ts';

/** A count of `Broadcast.counts`. */
export type CountName = keyof Broadcast['counts'];

/** What each count means, in display order; the counts add up to the audience. */
export const countMeanings: Readonly<Record<CountName, string>> = {
  accepted: 'the push service took the message',
  gone: 'the push service says that the subscription has ended',
  rejected: 'refused, not retried',
  expired: 'not delivered within the TTL',
  exhausted: 'given up after too many attempts',
  capped: 'not sent: the person was reached often enough',
  removed: 'unsubscribed before their turn',
  cancelled: 'never attempted',
  pending: 'still to be delivered',
};

/** In display order. */
export const countNames = Object.keys(countMeanings) as readonly CountName[];

/** `1,000,000` */
export const formatCount = (count: number): string => count.toLocaleString('en');

/** The counts that are not 0, in display order. */
export function nonZeroCounts({ counts }: Broadcast): readonly (readonly [CountName, number])[] {
  return countNames.map((name) => [name, counts[name]] as const).filter(([, count]) => count > 0);
}

/** What each receipt means, in display order. */
export const receiptMeanings: Readonly<Record<ReceiptEvent, string>> = {
  shown: 'reported: the browser showed the notification',
  clicked: 'reported: the user clicked on it',
  dismissed: 'reported: it was closed without a click',
};

/** What all push services together have brought about; `undefined` where the broadcast asks for no receipts. */
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

/** `scheduled` is a running broadcast whose start is still to come. */
export function stateOf({ state, startAtMs }: Broadcast, nowMs = Date.now()): BroadcastState | 'scheduled' {
  return state === 'running' && startAtMs > nowMs ? 'scheduled' : state;
}

/** `1,000 subscriptions` */
export const formatAudience = (count: number): string =>
  `${formatCount(count)} subscription${count === 1 ? '' : 's'}`;

/** `Broadcast 7 to 1,000 subscriptions` */
export const nameBroadcast = ({ id, audience }: Pick<Broadcast, 'id' | 'audience'>): string =>
  `Broadcast ${id} to ${formatAudience(audience)}`;

/** `Broadcast 7 to 1,000 subscriptions is done: 990 accepted, 10 rejected.` */
export function formatState(broadcast: Broadcast): string {
  const counts = nonZeroCounts(broadcast).map(([name, count]) => `${formatCount(count)} ${name}`);
  const details = counts.length === 0 ? '' : `: ${counts.join(', ')}`;
  return `${nameBroadcast(broadcast)} is ${stateOf(broadcast)}${details}.`;
}

/** `fcm.googleapis.com refuses our token or key: vapid-refused (BadJwtToken)` */
export function formatAlarm({ origin, reason, detail }: Pick<Alarm, 'origin' | 'reason' | 'detail'>): string {
  const isSentence = [heldDeletionsReason, chromeLimitReason, notListedReason].includes(reason);
  if (isSentence) return `${hostOf(origin)}: ${detail}`;
  const verb = reason === 'vapid-refused' ? 'refuses our token or key' : 'rejects messages';
  return `${hostOf(origin)} ${verb}: ${reason}${detail === '' ? '' : ` (${detail})`}`;
}

/** `1:05:09`, `0:32` */
export function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0
    ? `${hours}:${twoDigits(minutes)}:${twoDigits(whole % 60)}`
    : `${minutes}:${twoDigits(whole % 60)}`;
}

/** `fcm.googleapis.com`, with the port where it is not the scheme's own. */
export function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin;
}

export const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** ISO 8601 with a zone: a time without one would mean another moment on another machine. */
export function parseIsoTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');
