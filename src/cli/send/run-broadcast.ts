// Shows a broadcast that this process delivers: a live line on a terminal, a line every few seconds elsewhere, or JSON
// events, then a summary. Ctrl-C pauses it.
import type { BroadcastRun } from '../../delivery/sender-interface.ts';
import {
  formatAlarm,
  formatDuration,
  nameBroadcast,
  stateOf,
} from '../../delivery/broadcast/format-broadcast.ts';
import { alarmKey } from '../../delivery/broadcast/watch-broadcasts.ts';
import { formatReachability, watchPushServices } from '../../delivery/broadcast/watch-push-services.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Broadcast, BroadcastStore } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';
import { alarmToJson, broadcastToJson, progressToJson } from '../../views/broadcast.ts';
import { assertDelivered } from './assert-delivered.ts';
import { summarize } from './broadcast-summary.ts';
import { formatProgress } from './format-progress.ts';
import type { CommandHint } from '../output/command-hint.ts';
import type { Context } from '../context.ts';

/** Intervals of progress lines where there is no terminal. */
const plainEveryMs = 5000;
const jsonEveryMs = 1000;

/**
 * @throws {DeskbellError} ERR_BROADCAST_UNFINISHED when it was paused or cancelled, ERR_NOT_ACCEPTED when messages to live
 *   subscriptions were not accepted
 */
export async function runBroadcast(
  run: BroadcastRun,
  store: Pick<Store, 'broadcasts' | 'senders'>,
  { output, stop }: Pick<Context, 'output' | 'stop'>,
  { json, hint }: { readonly json: boolean; readonly hint: CommandHint },
): Promise<void> {
  const { id } = run.broadcast;
  await output.line(
    json ? event('broadcast', { isNew: run.isNew, ...broadcastToJson(run.broadcast) }) : formatStart(run),
  );

  let pausing: Promise<void> | undefined;
  const pause = (): void => {
    output.live('');
    output.diagnostic('Pausing: waiting for the messages in flight. Press Ctrl-C again to exit immediately.');
    pausing = pauseUnlessOver(store.broadcasts, id).finally(() => run.stop());
    pausing.catch(() => {});
  };
  const shown = new AbortController();
  const reportReachability = async (): Promise<void> => {
    // where the store cannot be read, the broadcast says so
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
    if (broadcast.state === 'paused' || broadcast.state === 'running') {
      output.diagnostic(`To resume it:\n  ${hint(`broadcasts resume ${id}`)}`);
    }
    assertDelivered(broadcast);
  } finally {
    stop.removeEventListener('abort', pause);
    output.live('');
  }
}

async function showProgress(run: BroadcastRun, output: Context['output'], json: boolean): Promise<void> {
  const everyMs = json ? jsonEveryMs : plainEveryMs;
  const shownAlarms = new Set<string>();
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
      await output.line(json ? event('progress', progressToJson(progress)) : formatProgress(progress));
    }
  }
}

async function showEnd(broadcast: Broadcast, output: Context['output'], json: boolean): Promise<void> {
  output.live('');
  if (json) return output.line(event('summary', broadcastToJson(broadcast)));
  if (broadcast.audience === 0) return output.line('The audience is empty.');
  const { finishedAtMs = Date.now(), startAtMs, createdAtMs } = broadcast;
  const seconds = Math.max(0.001, (finishedAtMs - Math.max(startAtMs, createdAtMs)) / 1000);
  const time = broadcast.state === 'done' ? ` in ${formatDuration(seconds)}` : '';
  await output.line(`Broadcast ${broadcast.id} is ${output.style('bold', stateOf(broadcast))}${time}:`);
  for (const line of summarize(broadcast, output)) await output.line(line);
}

function formatStart({ broadcast, isNew }: BroadcastRun): string {
  if (isNew) return `${nameBroadcast(broadcast)}.`;
  const next = broadcast.state === 'running' ? ' Continuing.' : '';
  return `${nameBroadcast(broadcast)} is already ${stateOf(broadcast)}.${next}`;
}

const event = (name: string, fields: object): string => JSON.stringify({ event: name, ...fields });

/** A broadcast that is over needs no pause. */
async function pauseUnlessOver(store: BroadcastStore, id: number): Promise<void> {
  await store.pause(id).catch((error: unknown) => {
    if (!(error instanceof DeskbellError && error.code === 'ERR_BROADCAST_STATE')) throw error;
  });
}
