// Sees a broadcast through that this process works on: a live line on a terminal, a line now and then elsewhere, or
// JSON events; Ctrl-C pauses it; a summary at the end.
import type { BroadcastRun } from '../delivery/deliverer.ts';
import type { Progress } from '../delivery/progress.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Broadcast, BroadcastStore } from '../store/broadcast-store.ts';
import {
  describeAlarm,
  describeOutcome,
  describeProgress,
  formatCount,
  formatDuration,
  stateOf,
  toJson,
} from './broadcast-words.ts';
import type { Context } from './context.ts';

/** Where nobody looks on, a line is written this often; JSON events every second. */
const plainEveryMs = 5000;
const jsonEveryMs = 1000;

/**
 * @throws {DeskbellError} ERR_INTERRUPTED when it was paused or taken away, ERR_NOT_ACCEPTED where messages were not
 *   delivered whose subscriptions are still there
 */
export async function runBroadcast(
  run: BroadcastRun,
  store: BroadcastStore,
  { output, stop, invocation }: Context,
  { json }: { readonly json: boolean },
): Promise<void> {
  const { id } = run.broadcast;
  await output.line(
    json ? event('broadcast', { isNew: run.isNew, ...toJson(run.broadcast) }) : describeStart(run),
  );

  let pausing: Promise<void> | undefined;
  const pause = (): void => {
    output.live('');
    output.remark('Pausing: waiting for the messages in flight; a second Ctrl-C ends at once.');
    pausing = pauseUnlessOver(store, id).finally(() => run.stop());
    pausing.catch(() => {});
  };
  stop.addEventListener('abort', pause, { once: true });
  if (stop.aborted) pause();
  try {
    await showProgress(run, output, json);
    const broadcast = await run.finished;
    await pausing;
    await showEnd(broadcast, output, json);
    refuseUnfinished(broadcast, invocation);
  } finally {
    stop.removeEventListener('abort', pause);
    output.live('');
  }
}

async function showProgress(run: BroadcastRun, output: Context['output'], json: boolean): Promise<void> {
  const everyMs = json ? jsonEveryMs : plainEveryMs;
  const alarmed = new Set<string>();
  let nextMs = performance.now() + everyMs;
  for await (const progress of run.progress()) {
    for (const alarm of progress.broadcast.alarms) {
      const key = `${alarm.origin} ${alarm.reason}`;
      if (alarmed.has(key)) continue;
      alarmed.add(key);
      if (json) await output.line(event('alarm', alarm));
      else output.remark(`deskbell: ${describeAlarm(alarm)}`);
    }
    if (!json && output.isTerminal) output.live(describeProgress(progress));
    else if (performance.now() >= nextMs) {
      nextMs = performance.now() + everyMs;
      await output.line(json ? event('progress', progressFields(progress)) : describeProgress(progress));
    }
  }
}

async function showEnd(broadcast: Broadcast, output: Context['output'], json: boolean): Promise<void> {
  output.live('');
  if (json) return output.line(event('summary', toJson(broadcast)));
  if (broadcast.audience === 0) return output.line('There is nobody to send to.');
  const { finishedAtMs = Date.now(), startAtMs, createdAtMs } = broadcast;
  const seconds = Math.max(0.001, (finishedAtMs - Math.max(startAtMs, createdAtMs)) / 1000);
  const time = broadcast.state === 'done' ? ` in ${formatDuration(seconds)}` : '';
  await output.line(`Broadcast ${broadcast.id} is ${output.style('bold', stateOf(broadcast))}${time}:`);
  for (const line of describeOutcome(broadcast, output)) await output.line(line);
}

function refuseUnfinished({ id, state, counts }: Broadcast, invocation: string): void {
  if (state === 'cancelled') throw new DeskbellError('ERR_INTERRUPTED', `Broadcast ${id} was cancelled`);
  if (state !== 'done') {
    throw new DeskbellError(
      'ERR_INTERRUPTED',
      `Broadcast ${id} is ${state}, with ${formatCount(counts.pending)} messages to go. ` +
        `To go on: ${invocation} broadcasts resume ${id}`,
    );
  }
  const failed = counts.rejected + counts.expired + counts.exhausted;
  if (failed === 0) return;
  throw new DeskbellError('ERR_NOT_ACCEPTED', `${formatCount(failed)} messages were not accepted`);
}

function describeStart({ broadcast, isNew }: BroadcastRun): string {
  const { id, audience, state } = broadcast;
  if (isNew) return `Broadcast ${id} to ${formatCount(audience)}.`;
  const goesOn = state === 'running' ? ' Going on with it.' : '';
  return `Broadcast ${id} to ${formatCount(audience)} is ${stateOf(broadcast)} already.${goesOn}`;
}

const event = (name: string, fields: object): string => JSON.stringify({ event: name, ...fields });

function progressFields({ broadcast, settled, ratePerSecond, etaSeconds }: Progress): object {
  const { id, counts, waiting, origins } = broadcast;
  return { id, settled, ratePerSecond: Math.round(ratePerSecond), etaSeconds, counts, waiting, origins };
}

/** What is over needs no pause. */
async function pauseUnlessOver(store: BroadcastStore, id: number): Promise<void> {
  await store.pause(id).catch((error: unknown) => {
    if (!(error instanceof DeskbellError && error.code === 'ERR_BROADCAST_STATE')) throw error;
  });
}
