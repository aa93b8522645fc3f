// Runs a broadcast that this process delivers, and shows its start, progress and summary. Ctrl-C pauses it.
import { formatDuration, nameBroadcast, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { formatReachability, watchPushServices } from '../../delivery/broadcast/watch.ts';
import type { BroadcastRun } from '../../delivery/sender-interface.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import { broadcastToJson } from '../../operations/broadcasts.ts';
import { type Broadcast, type BroadcastStore, isOver } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';
import type { Context } from '../command.ts';
import type { CommandHint } from '../output/command-hint.ts';
import { formatPreparation, showProgress, summarize } from './progress.ts';

/** @throws {DeskbellError} ERR_BROADCAST_UNFINISHED, ERR_NOT_ACCEPTED */
export function assertDelivered({ id, state, counts }: Broadcast): void {
  if (state === 'cancelled')
    throw new DeskbellError('ERR_BROADCAST_UNFINISHED', `Broadcast ${id} was cancelled`);
  if (state !== 'done') {
    throw new DeskbellError(
      'ERR_BROADCAST_UNFINISHED',
      `Broadcast ${id} is ${state} with ${countOf(counts.pending, 'message')} pending`,
    );
  }
  const failed = counts.rejected + counts.expired + counts.exhausted + counts.doubtful;
  if (failed === 0) return;
  throw new DeskbellError(
    'ERR_NOT_ACCEPTED',
    `${countOf(failed, 'message')} ${failed === 1 ? 'was' : 'were'} not accepted`,
  );
}

/**
 * @throws {DeskbellError} ERR_BROADCAST_UNFINISHED if it was paused or cancelled, ERR_NOT_ACCEPTED if messages to live
 *   subscriptions were not accepted
 */
export async function runBroadcast(
  run: BroadcastRun,
  store: Pick<Store, 'broadcasts' | 'senders'>,
  { output, stop }: Pick<Context, 'output' | 'stop'>,
  { json, hint }: { readonly json: boolean; readonly hint: CommandHint },
): Promise<void> {
  const { id } = run.broadcast;
  const started = { event: 'broadcast', isNew: run.isNew, ...broadcastToJson(run.broadcast) };
  await output.result({ json }, started, formatStart(run));

  let pausing: Promise<void> | undefined;
  const pause = (): void => {
    output.live('');
    output.diagnostic('Pausing: waiting for the messages in flight. Press Ctrl-C again to exit immediately.');
    pausing = pauseUnlessOver(store.broadcasts, id).finally(() => run.stop());
    pausing.catch(() => {});
  };
  const shown = new AbortController();
  const reportReachability = async (): Promise<void> => {
    // the broadcast reports a store that cannot be read
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
    if (!isOver(broadcast)) {
      output.diagnostic(`To resume it:\n  ${hint(`broadcasts resume ${id}`)}`);
    }
    assertDelivered(broadcast);
  } finally {
    stop.removeEventListener('abort', pause);
    output.live('');
  }
}

const toNobody =
  'Nobody is in the audience, so nothing was sent. "deskbell subscriptions list" shows who has subscribed.';

async function showEnd(broadcast: Broadcast, output: Context['output'], json: boolean): Promise<void> {
  output.live('');
  if (json) return output.line(JSON.stringify({ event: 'summary', ...broadcastToJson(broadcast) }));
  if (broadcast.recipients === 0) return output.line(toNobody);
  const { finishedAtMs = Date.now(), startAtMs, createdAtMs } = broadcast;
  const seconds = Math.max(0.001, (finishedAtMs - Math.max(startAtMs, createdAtMs)) / 1000);
  const time = broadcast.state === 'done' ? ` in ${formatDuration(seconds)}` : '';
  await output.line(`Broadcast ${broadcast.id} is ${output.style('bold', stateOf(broadcast))}${time}:`);
  for (const line of summarize(broadcast, output)) await output.line(line);
}

function formatStart({ broadcast, isNew }: BroadcastRun): string {
  if (broadcast.state === 'preparing') return `${formatPreparation(broadcast)}.`;
  if (isNew) return `${nameBroadcast(broadcast)}.`;
  const next = broadcast.state === 'running' ? ' Continuing.' : '';
  return `${nameBroadcast(broadcast)} is already ${stateOf(broadcast)}.${next}`;
}

async function pauseUnlessOver(store: BroadcastStore, id: number): Promise<void> {
  await store.pause(id).catch((error: unknown) => {
    if (!(error instanceof DeskbellError && error.code === 'ERR_BROADCAST_STATE')) throw error;
  });
}
