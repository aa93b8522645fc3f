// Broadcasts of a store: creates them, and works on one of them or on whatever comes.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { Message } from '../../protocol/message/message.ts';
import { isOver, requireBroadcast, type Broadcast } from '../../store/broadcasts.ts';
import type { Schedule } from '../../store/schedules.ts';
import type { Audience } from './audience.ts';
import { createBroadcast, type BroadcastOptions } from './create-broadcast.ts';
import { createSchedule, type RecurringAudience, type ScheduleOptions } from '../schedule/create-schedule.ts';
import { Jobs } from '../jobs.ts';
import { watchProgress, type Progress } from './progress.ts';
import { runSchedules } from '../schedule/run-schedules.ts';
import { persist } from '../worker/persist.ts';
import { createRunWorkers, type RunWorkersOptions } from '../worker/run-workers.ts';

/** A broadcast that this process works on. */
export interface BroadcastRun {
  readonly broadcast: Broadcast;
  /** False where an earlier call with the same idempotency key had made it. */
  readonly isNew: boolean;
  /** How far it is, about twice a second, with what other processes do for it; ends when the work here ends. */
  progress(): AsyncIterable<Progress>;
  /** Resolves when the work here has ended: the broadcast is over or paused, or `stop` was called. */
  readonly finished: Promise<Broadcast>;
  /** Ends the work here after the messages in flight; the broadcast stays as it is, for others or for later. */
  stop(): Promise<void>;
}

export interface Broadcaster {
  /** Stores a broadcast and leaves its delivery to others, or to later. */
  createBroadcast(
    audience: Audience,
    message: Message,
    options?: BroadcastOptions,
  ): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  createSchedule(audience: RecurringAudience, message: Message, options: ScheduleOptions): Promise<Schedule>;
  broadcast(audience: Audience, message: Message, options?: BroadcastOptions): Promise<BroadcastRun>;
  /** Works on a broadcast that is there; one that is paused is resumed. */
  resume(broadcastId: number): Promise<BroadcastRun>;
  /** Works on every broadcast of the store, those to come and those of schedules included, until `signal` is aborted. */
  work(signal: AbortSignal, onFault?: (fault: unknown) => void): Promise<void>;
  /** Stops all that runs here. */
  close(): Promise<void>;
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export function createBroadcaster(options: RunWorkersOptions): Broadcaster {
  const { broadcasts } = options.store;
  const policy = createEndpointPolicy(options.transport.pushServices);
  const runWorkers = createRunWorkers(options);
  const jobs = new Jobs();

  const getOrThrow = async (id: number): Promise<Broadcast> =>
    requireBroadcast(await broadcasts.find(id), id);

  const startRun = (broadcast: Broadcast, isNew: boolean): BroadcastRun => {
    const { id, counts } = broadcast;
    const { ended, stop } = jobs.start(async (signal) => {
      if (isOver(broadcast) || broadcast.state === 'paused') return;
      await runWorkers({ broadcastId: id, rows: counts.pending }, signal);
    });
    const finished = ended.then(() => getOrThrow(id));
    // who does not wait for it hears of a fault by `progress` ending early or by the store
    finished.catch(() => {});
    return { broadcast, isNew, finished, stop, progress: () => watchProgress(broadcasts, id, finished) };
  };

  const requireReceiptKey = ({ receipts = false }: { readonly receipts?: boolean | undefined }): void => {
    if (!receipts || options.receiptKey !== undefined) return;
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'Receipts need the option "receiptKey": give createSender that of the data directory.',
    );
  };

  const create: Broadcaster['createBroadcast'] = async (audience, message, broadcastOptions = {}) => {
    requireReceiptKey(broadcastOptions);
    return createBroadcast(options.store, policy, audience, message, broadcastOptions);
  };

  return {
    createBroadcast: create,

    createSchedule: async (audience, message, scheduleOptions) => {
      requireReceiptKey(scheduleOptions);
      return createSchedule(options.store, audience, message, scheduleOptions);
    },

    broadcast: async (audience, message, broadcastOptions) => {
      const { broadcast, isNew } = await create(audience, message, broadcastOptions);
      return startRun(broadcast, isNew);
    },

    resume: async (id) => {
      const broadcast = await getOrThrow(id);
      return startRun(broadcast.state === 'paused' ? await broadcasts.resume(id) : broadcast, false);
    },

    work: async (signal, onFault = () => {}) => {
      const { ended } = jobs.start(async (stopSignal) => {
        const stopped = AbortSignal.any([signal, stopSignal]);
        const { store, onWarning } = options;
        await Promise.all([
          persist(() => runWorkers({}, stopped), { stopped, onFault }),
          persist(() => runSchedules({ store, policy, onWarning }, stopped), { stopped, onFault }),
        ]);
      });
      await ended;
    },

    close: () => jobs.stopAll(),
  };
}
