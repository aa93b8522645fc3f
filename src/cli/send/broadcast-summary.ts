// The summary of a broadcast for people: counts that add up to the audience, a table of push services, alarms.
import { countOf, formatCount } from '../../errors/format-count.ts';
import { settlements, type Broadcast } from '../../store/broadcasts.ts';
import {
  formatAlarm,
  formatShare,
  hostOf,
  nonZeroCounts,
  shareOfAccepted,
  totalReceipts,
} from '../../delivery/broadcast/format-broadcast.ts';
import { countMeanings, inactiveMeaning, receiptMeanings } from '../../delivery/broadcast/count-meanings.ts';
import { receiptEvents, type ReceiptEvent } from '../../store/receipts.ts';
import type { Output } from '../output/output.ts';

/** @returns lines to print one below the other */
export function summarize(broadcast: Broadcast, { style }: Pick<Output, 'style'>): readonly string[] {
  const { recipients, inactive, skipInactive, alarms } = broadcast;
  const width = formatCount(recipients).length;
  return [
    ...nonZeroCounts(broadcast).map(
      ([name, count]) =>
        `  ${formatCount(count).padStart(width)} ${name.padEnd(9)}  ${style('dim', countMeanings[name])}`,
    ),
    `  ${formatCount(recipients).padStart(width)} in total`,
    ...(inactive === undefined
      ? []
      : [
          `  ${formatCount(inactive).padStart(width)} left out   ${style('dim', inactiveMeaning(skipInactive))}`,
        ]),
    ...receiptLines(broadcast, width, { style }),
    ...originTable(broadcast, { style }),
    ...alarms.map((alarm) => style('red', `  ! ${formatAlarm(alarm)}: ${countOf(alarm.rows, 'message')}`)),
  ];
}

/** Beside the counts that add up: of the accepted messages, what browsers say became of them. */
function receiptLines(
  broadcast: Broadcast,
  width: number,
  { style }: Pick<Output, 'style'>,
): readonly string[] {
  const total = totalReceipts(broadcast);
  if (total === undefined) return [];
  const line = (count: number, name: string, meaning: string): string =>
    `  ${formatCount(count).padStart(width)} ${name.padEnd(9)}  ${style('dim', meaning)}`;
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
  const hostWidth = Math.max(12, ...origins.map(({ origin }) => hostOf(origin).length));
  return [
    '',
    style('dim', `  ${'PUSH SERVICE'.padEnd(hostWidth)}${cells([...columns, 'attempts', ...reported])}`),
    ...origins.map((origin) => {
      const counted = receipts?.find((ofOrigin) => ofOrigin.origin === origin.origin);
      const events = reported.map((event) => counted?.[event] ?? 0);
      const numbers = [...columns.map((name) => origin[name]), origin.attempts, ...events].map(formatCount);
      return `  ${hostOf(origin.origin).padEnd(hostWidth)}${cells(numbers)}`;
    }),
  ];
}

const cells = (values: readonly string[]): string => values.map((value) => value.padStart(11)).join('');
