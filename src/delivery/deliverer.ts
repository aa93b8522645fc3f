// Delivers the broadcasts of a store: creates them, runs workers for one of them or for whatever comes.
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadAccelerator } from '../accelerator/load-accelerator.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { isOver, type Broadcast } from '../store/broadcasts.ts';
import type { Store } from '../store/store.ts';
import { createTransport } from '../transport/create-transport.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import type { Encrypt } from '../protocol/encryption.ts';
import type { Message } from '../protocol/payload.ts';
import type { Audience } from './audience.ts';
import { createBroadcast, type BroadcastOptions } from './create-broadcast.ts';
import { createRequests, type DeliverySettings } from './delivery-settings.ts';
import { watchProgress, type Progress } from './progress.ts';
import { runWorkerThreads } from './worker-pool.ts';
import { runWorker } from './worker.ts';

export interface DelivererOptions extends DeliverySettings {
  readonly store: Store;
  /** Worker threads for large audiences; 0 delivers everything in this thread. */
  readonly threads?: number;
  /** For what is delivered in this thread. */
  readonly encrypt?: Encrypt;
  /** Told once, in words, why the accelerator is not used. */
  readonly onRemark?: (remark: string) => void;
}

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

export interface Deliverer {
  /** Stores a broadcast and leaves its delivery to others, or to later. */
  createBroadcast(
    audience: Audience,
    message: Message,
    options?: BroadcastOptions,
  ): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  broadcast(audience: Audience, message: Message, options?: BroadcastOptions): Promise<BroadcastRun>;
  /** Works on a broadcast that is there; one that is paused goes on. */
  resume(broadcastId: number): Promise<BroadcastRun>;
  /** Works on every broadcast of the store, those to come included, until `signal` is aborted. */
  work(signal: AbortSignal, onFault?: (fault: unknown) => void): Promise<void>;
  /** Stops all that runs here. */
  close(): Promise<void>;
}

/** What one thread does faster than another one starts. */
const rowsForThread = 2000;
const firstPauseMs = 1000;
const maxPauseMs = 60_000;

export function createDeliverer({
  store,
  threads,
  encrypt,
  onRemark = () => {},
  ...settings
}: DelivererOptions): Deliverer {
  const policy = createEndpointPolicy(settings.transport.pushServices);
  const canThread = canBePosted(settings) && encrypt === undefined;
  const maxThreads = threads ?? (canThread ? availableParallelism() : 0);
  if (maxThreads > 0 && !canThread) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'encrypt, resolve and connectOverride are functions, which threads cannot be given: leave them out or set threads to 0.',
    );
  }
  const running = new Set<{ stop(): Promise<void> }>();
  const remarks = new Set<string>();

  /** Every thread has the same to say. */
  const remark = (text: string): void => {
    if (remarks.has(text)) return;
    remarks.add(text);
    onRemark(text);
  };

  const chooseEncrypt = (): Encrypt => {
    if (encrypt !== undefined) return encrypt;
    const accelerator = loadAccelerator();
    if (accelerator.reason !== undefined) remark(accelerator.reason);
    return accelerator.encrypt;
  };

  const runHere = async (signal: AbortSignal, broadcastId?: number): Promise<void> => {
    const transport = createTransport(settings.transport);
    const { retryPolicy, leaseMs } = settings;
    try {
      await runWorker(
        {
          work: store.work,
          ledger: store.ledger,
          transport,
          requests: createRequests(settings, chooseEncrypt()),
          ...(broadcastId !== undefined && { broadcastId }),
          ...(retryPolicy !== undefined && { retryPolicy }),
          ...(leaseMs !== undefined && { leaseMs }),
        },
        signal,
      );
    } finally {
      await transport.close(0);
    }
  };

  const run = (count: number, signal: AbortSignal, broadcastId?: number): Promise<void> => {
    if (count === 0) return runHere(signal, broadcastId);
    const only = broadcastId === undefined ? {} : { broadcastId };
    return runWorkerThreads(count, { storeAddress: store.address, settings, ...only }, signal, remark);
  };

  /** Starts work that `close` and the stop function end. */
  const start = (work: (signal: AbortSignal) => Promise<void>) => {
    const controller = new AbortController();
    const ended = work(controller.signal);
    const job = {
      ended,
      stop: async () => {
        controller.abort();
        await ended.catch(() => {});
      },
    };
    running.add(job);
    ended.then(
      () => running.delete(job),
      () => running.delete(job),
    );
    return job;
  };

  const present = async (id: number): Promise<Broadcast> => {
    const broadcast = await store.broadcasts.find(id);
    if (broadcast !== undefined) return broadcast;
    throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}.`);
  };

  const startRun = (broadcast: Broadcast, isNew: boolean): BroadcastRun => {
    const { id, counts } = broadcast;
    const wanted = Math.min(maxThreads, Math.floor(counts.pending / rowsForThread));
    const { ended, stop } = start((signal) =>
      isOver(broadcast) || broadcast.state === 'paused' ? Promise.resolve() : run(wanted, signal, id),
    );
    const finished = ended.then(() => present(id));
    // who does not wait for it hears of a fault by `progress` ending early or by the store
    finished.catch(() => {});
    return {
      broadcast,
      isNew,
      finished,
      stop,
      progress: () => watchProgress(store.broadcasts, id, finished),
    };
  };

  const create: Deliverer['createBroadcast'] = (audience, message, options = {}) =>
    createBroadcast(store.broadcasts, policy, audience, message, options);

  return {
    createBroadcast: create,

    broadcast: async (audience, message, options) => {
      const { broadcast, isNew } = await create(audience, message, options);
      return startRun(broadcast, isNew);
    },

    resume: async (id) => {
      const { state } = await present(id);
      return startRun(state === 'paused' ? await store.broadcasts.resume(id) : await present(id), false);
    },

    work: async (signal, onFault = () => {}) => {
      const job = start(async (stopSignal) => {
        const ended = AbortSignal.any([signal, stopSignal]);
        for (let pauseMs = firstPauseMs; !ended.aborted; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
          try {
            await run(maxThreads, ended);
          } catch (fault) {
            // a full disk or a store that is away passes; what was in hand is taken up again
            onFault(fault);
            await sleep(pauseMs, undefined, { signal: ended }).catch(() => {});
          }
        }
      });
      await job.ended;
    },

    close: async () => {
      await Promise.all([...running].map((job) => job.stop()));
    },
  };
}

function canBePosted({ transport }: DeliverySettings): boolean {
  return transport.resolve === undefined && transport.connectOverride === undefined;
}
