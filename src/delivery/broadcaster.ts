// Creates broadcasts in a store, and delivers one of them or all.
import { setTimeout as sleep } from 'node:timers/promises';
import { guardCallback, mustBe } from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import { createBroadcast, prepareBroadcast, runPreparations } from './broadcast/create-broadcast.ts';
import { watchProgress } from './broadcast/progress.ts';
import { createSchedule } from './schedule/create-schedule.ts';
import { runSchedules } from './schedule/run-schedules.ts';
import type { BroadcastRun, Sender } from './sender-interface.ts';
import type { GroupedOptions } from './settings/sender-options.ts';
import { createRunWorkers, restartAfterFaults } from './worker/run-workers.ts';

/** How long a caller that creates a broadcast waits for its audience to be complete. */
const maxCreationMs = 2000;

const isBroadcastId = mustBe('the ID of a broadcast', Number.isSafeInteger);
const isSignal = mustBe('an AbortSignal', (value) => value instanceof AbortSignal);

export type Broadcaster = Omit<Sender, 'send' | 'sendPayload'>;

/**
 * @param options checked by `createSender`
 * @throws {DeskbellError} ERR_CONFIGURATION (no store)
 */
export function openBroadcaster(options: GroupedOptions): Broadcaster {
  const { settings, store, onWarning, ...own } = options;
  if (store === undefined) {
    throw new DeskbellError('ERR_CONFIGURATION', 'Broadcasts are kept in a store: give createSender one.');
  }
  const { broadcasts } = store;
  const policy = createEndpointPolicy(settings.transport.pushServices);
  const runWorkers = createRunWorkers({ settings, store, onWarning, ...own });
  const closing = new AbortController();
  const running = new Set<Promise<void>>();

  /** @param work must end soon after its signal is aborted */
  const start = (work: (signal: AbortSignal) => Promise<void>) => {
    const stopping = new AbortController();
    const ended = work(AbortSignal.any([stopping.signal, closing.signal]));
    running.add(ended);
    const forget = () => running.delete(ended);
    ended.then(forget, forget);
    /** Resolves when the work has ended, for whatever reason. */
    const stop = async (): Promise<void> => {
      stopping.abort();
      await Promise.allSettled([ended]);
    };
    return { ended, stop };
  };

  const startRun = (broadcast: Broadcast, isNew: boolean): BroadcastRun => {
    const { id } = broadcast;
    const { ended, stop } = start(async (signal) => {
      const prepared =
        broadcast.state === 'preparing' ? await prepareBroadcast(broadcasts, id, signal) : broadcast;
      if (prepared.state !== 'running') return;
      await runWorkers(signal, id, prepared.counts.pending);
    });
    const finished = ended.then(() => broadcasts.get(id));
    // callers may ignore `finished`: after an error, `progress` ends early, and the store records the error
    finished.catch(() => {});
    return { broadcast, isNew, finished, stop, progress: () => watchProgress(broadcasts, id, finished) };
  };

  const requireReceiptKey = (given: { readonly receipts?: boolean | undefined } | null | undefined): void => {
    if (given?.receipts !== true || settings.receiptKey !== undefined) return;
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'Receipts need the option "receiptKey": give createSender that of the data directory.',
    );
  };

  const create: Broadcaster['createBroadcast'] = async (audience, message, broadcastOptions = {}) => {
    requireReceiptKey(broadcastOptions);
    const made = await createBroadcast(store, policy, audience, message, broadcastOptions);
    if (made.broadcast.state !== 'preparing') return made;
    return { ...made, broadcast: await prepare(made.broadcast.id) };
  };

  /** Prepares a broadcast in the background. @returns the broadcast, after at most two seconds */
  const prepare = async (id: number): Promise<Broadcast> => {
    const { ended } = start(async (signal) => void (await prepareBroadcast(broadcasts, id, signal)));
    // if this fails, a worker continues the preparation
    await Promise.race([ended.catch(() => {}), sleep(maxCreationMs, undefined, { ref: false })]);
    return broadcasts.get(id);
  };

  return {
    createBroadcast: create,

    createSchedule: async (audience, message, scheduleOptions) => {
      requireReceiptKey(scheduleOptions);
      return createSchedule(store, audience, message, scheduleOptions);
    },

    broadcast: async (audience, message, broadcastOptions) => {
      const { broadcast, isNew } = await create(audience, message, broadcastOptions);
      return startRun(broadcast, isNew);
    },

    resume: async (id) => {
      isBroadcastId(id, 'broadcastId');
      const broadcast = await broadcasts.get(id);
      return startRun(broadcast.state === 'paused' ? await broadcasts.resume(id) : broadcast, false);
    },

    work: async (signal, given = () => {}) => {
      isSignal(signal, 'signal');
      const onFault = guardCallback('onFault', given);
      const { ended } = start(async (stopSignal) => {
        const stopped = AbortSignal.any([signal, stopSignal]);
        const restart = { stopped, onFault };
        await Promise.all([
          restartAfterFaults(() => runWorkers(stopped), restart),
          restartAfterFaults(() => runSchedules({ store, policy, onWarning, onFault }, stopped), restart),
          restartAfterFaults(() => runPreparations(store, stopped, onFault), restart),
        ]);
      });
      await ended;
    },

    close: async () => {
      closing.abort();
      await Promise.allSettled(running);
    },
  };
}
