// Shows how far a broadcast is: a live line on a terminal, elsewhere a line every few seconds if anything has changed, or JSON events;
// and alarms.
import { formatAlarm } from '../../delivery/broadcast/format-broadcast.ts';
import { alarmKey } from '../../delivery/broadcast/watch-broadcasts.ts';
import type { BroadcastRun } from '../../delivery/sender-interface.ts';
import { alarmToJson } from '../../operations/alarm.ts';
import { progressToJson } from '../../operations/broadcast.ts';
import type { Context } from '../context.ts';
import { formatProgress } from './format-progress.ts';

/** Intervals of progress lines where there is no terminal. */
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
