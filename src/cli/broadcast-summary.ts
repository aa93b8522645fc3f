// The summary of a broadcast for people: counts that add up to the audience, a table of push services, alarms.
import { settlements, type Broadcast } from '../store/broadcasts.ts';
import {
  countMeanings,
  formatAlarm,
  formatCount,
  hostOf,
  nonZeroCounts,
} from '../delivery/format-broadcast.ts';
import type { Output } from './output.ts';

/** @returns lines to print one below the other */
export function summarize(broadcast: Broadcast, { style }: Pick<Output, 'style'>): readonly string[] {
  const { audience, alarms } = broadcast;
  const width = formatCount(audience).length;
  return [
    ...nonZeroCounts(broadcast).map(
      ([name, count]) =>
        `  ${formatCount(count).padStart(width)} ${name.padEnd(9)}  ${style('dim', countMeanings[name])}`,
    ),
    `  ${formatCount(audience).padStart(width)} in total`,
    ...originTable(broadcast, { style }),
    ...alarms.map((alarm) => style('red', `  ! ${formatAlarm(alarm)}: ${formatCount(alarm.rows)} messages`)),
  ];
}

function originTable({ counts, origins }: Broadcast, { style }: Pick<Output, 'style'>): readonly string[] {
  if (origins.length === 0) return [];
  const columns = settlements.filter((name) => counts[name] > 0);
  const hostWidth = Math.max(12, ...origins.map(({ origin }) => hostOf(origin).length));
  return [
    '',
    style('dim', `  ${'PUSH SERVICE'.padEnd(hostWidth)}${cells([...columns, 'attempts'])}`),
    ...origins.map((origin) => {
      const numbers = [...columns.map((name) => origin[name]), origin.attempts].map(formatCount);
      return `  ${hostOf(origin.origin).padEnd(hostWidth)}${cells(numbers)}`;
    }),
  ];
}

const cells = (values: readonly string[]): string => values.map((value) => value.padStart(11)).join('');
