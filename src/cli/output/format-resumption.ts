// Formats what a paused store will start when sending resumes, in words and as JSON.
import { countOf } from '../../errors/format-count.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { Resumption } from '../../delivery/schedule/resume-sending.ts';
import type { CommandHint } from './command-hint.ts';

/** Returns what `--json` prints. */
export function resumptionToJson(resumption: Resumption): object {
  const { pause, schedules, missed, webhookEvents, broadcastIds } = resumption;
  return {
    paused: pause !== undefined,
    reason: pause?.reason,
    since: pause && isoTime(pause.sinceMs),
    schedules: schedules.length,
    missed: missed.map(({ id, nextAtMs }) => ({ schedule: id, at: isoTime(nextAtMs) })),
    webhookEvents,
    broadcasts: broadcastIds,
  };
}

/** @returns the lines to print: the command that resumes sending, if it is paused, and what resuming will start */
export function formatResumption(resumption: Resumption, hint: CommandHint): string {
  const { pause, schedules, missed, webhookEvents, broadcastIds, startsMs } = resumption;
  const running = broadcastIds.filter((id) => !startsMs.has(id));
  const scheduled = broadcastIds.filter((id) => startsMs.has(id));
  const lines = [
    ...(pause === undefined
      ? []
      : [
          'When no other copy of this store sends, this command has it send by itself again:',
          `  ${hint('sending resume')}`,
          'It starts:',
        ]),
    `  ${countOf(schedules.length, 'schedule')}${describeNext(resumption)}`,
    `  ${countOf(webhookEvents, 'webhook event')}, to be posted at once`,
    ...missed.map(
      ({ id, nextAtMs }) =>
        `Schedule ${id} has missed ${isoTime(nextAtMs)}, which is left out${pause === undefined ? '' : ' (unless --with-missed is given)'}.`,
    ),
    ...below(
      'These broadcasts were running, and stay paused. Resumed, each sends what is left of it at once, and with it ' +
        'what the original has sent since the copy was made:',
      running.map((id) => `  ${hint(`broadcasts resume ${id}`)}`),
    ),
    ...below(
      'These broadcasts were scheduled, and stay paused. Resumed, each is sent at its time, or at once where that has passed; ' +
        'the original sends it too:',
      scheduled.map((id) => `  ${hint(`broadcasts resume ${id}`)}  # ${isoTime(startsMs.get(id)!)}`),
    ),
  ];
  return lines.join('\n');
}

/** A heading with lines below it. Empty if there are no lines. */
const below = (heading: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [heading, ...lines];

function describeNext({ schedules, missed }: Resumption): string {
  const times = schedules.filter((schedule) => !missed.includes(schedule)).map(({ nextAtMs }) => nextAtMs);
  return times.length === 0 ? '' : `, the next one at ${isoTime(Math.min(...times))}`;
}
