// What a paused store would start when it is resumed, in words and as JSON.
import { formatCount, isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { Resumption } from '../../delivery/resume-sending.ts';
import type { CommandHint } from './command-hint.ts';

/** The shape of `--json`. */
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

/** @returns lines: the command, as long as sending is paused, and what it starts */
export function formatResumption(resumption: Resumption, hint: CommandHint): string {
  const { pause, schedules, missed, webhookEvents, broadcastIds } = resumption;
  const lines = [
    ...(pause === undefined
      ? []
      : [
          'When no other copy of this store sends, this command has it send by itself again:',
          `  ${hint('sending resume')}`,
          'It starts:',
        ]),
    `  ${formatCount(schedules.length)} schedules${describeNext(resumption)}`,
    `  ${formatCount(webhookEvents)} webhook events, which are posted at once`,
    ...missed.map(
      ({ id, nextAtMs }) =>
        `Schedule ${id} has missed ${isoTime(nextAtMs)}, which is left out${pause === undefined ? '' : ' (unless --with-missed is given)'}.`,
    ),
    ...(broadcastIds.length === 0
      ? []
      : [
          'These broadcasts were running or scheduled, and stay paused. Resumed, each sends what is left of it at once, and with it ' +
            'what the original has sent since the copy was made:',
          ...broadcastIds.map((id) => `  ${hint(`broadcasts resume ${id}`)}`),
        ]),
  ];
  return lines.join('\n');
}

function describeNext({ schedules, missed }: Resumption): string {
  const times = schedules.filter((schedule) => !missed.includes(schedule)).map(({ nextAtMs }) => nextAtMs);
  return times.length === 0 ? '' : `, the next one at ${isoTime(Math.min(...times))}`;
}
