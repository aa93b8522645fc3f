// What the tests of faults have in common: a store, local push services that take down what reaches them, and
// senders between them. All real, on loopback; the clock is moved where there is nothing but waiting.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import type { BroadcastRun } from '../../src/delivery/sender-interface.ts';
import type { RetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import type { WorkerSettings } from '../../src/delivery/settings/settings.ts';
import { createSender, type Sender, type SenderOptions } from '../../src/delivery/sender.ts';
import { startPushService, type PushService, type PushServiceEvent } from '../../src/push-service/index.ts';
import type { PushSubscriptionJson } from '../../src/push-service/sender-side/sender-api.ts';
import { settlements, type Broadcast } from '../../src/store/broadcasts.ts';
import type { StoredSubscription } from '../../src/store/subscriptions.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import type { VapidKeys } from '../../src/protocol/vapid.ts';
import { message, vapid, vapidKeys } from './broadcast-bench.ts';
import { SwitchablePort } from './switchable-port.ts';
import { never, TestClock } from './test-clock.ts';
import { openTestStore } from '../store/test-database.ts';
import { until, within } from '../../tools/until.ts';

export { message, vapidKeys };

export type Protocol = 'HTTP/1.1' | 'HTTP/2';
export const protocols: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2'];

export const fastRetries: RetryPolicy = {
  firstDelayMs: 40,
  maxDelayMs: 200,
  maxAttempts: 6,
  firstDeferralMs: 40,
  maxDeferralMs: 300,
  maxRepeatsInDoubt: 100,
};

/** A subscription whose requests are counted by themselves. */
export interface Sink extends PushSubscriptionJson {
  /** As events of the push service call it. */
  readonly name: string;
}

export interface RecordedRequest {
  readonly atMs: number;
  readonly sink: string;
  /** The status of the right answer, or the kind of the fault that was carried out. */
  readonly what: number | string;
}

/** A local push service that remembers what reached it, in order. */
export class RecordingPushService {
  readonly protocol: Protocol;
  readonly service: PushService;
  readonly port: SwitchablePort;
  readonly seen: RecordedRequest[] = [];
  readonly #clock: TestClock;
  /** Messages, over all sinks. */
  accepted = 0;
  readonly #watchers = new Set<() => void>();

  constructor(protocol: Protocol, service: PushService, port: SwitchablePort, clock: TestClock) {
    this.protocol = protocol;
    this.service = service;
    this.port = port;
    this.#clock = clock;
  }

  get origin(): string {
    return this.service.origin;
  }

  get faults(): PushService['faults'] {
    return this.service.faults;
  }

  /** Sinks that are counted and named one by one. @param vapidPublicKey the only key that may send to them */
  sinks(count: number, vapidPublicKey = vapidKeys.publicKey): Sink[] {
    return Array.from({ length: count }, () => {
      const [subscription] = this.service.createSinks(1, { vapidPublicKey });
      assert.ok(subscription);
      return { ...subscription, name: tokenOf(subscription).slice(0, 8) };
    });
  }

  /** How many messages each of these sinks has accepted, in their order. */
  received(sinks: readonly Sink[]): number[] {
    const byBatch = new Map(this.service.tallySinks().map(({ batch, messages }) => [batch, messages]));
    return sinks.map((sink) => byBatch.get(tokenOf(sink).split('-', 1)[0] ?? '') ?? 0);
  }

  /** What reached one sink, in order. */
  seenOf({ name }: Sink): RecordedRequest[] {
    return this.seen.filter(({ sink }) => sink === name);
  }

  /** Resolves as soon as `isSo`, which is asked after each request. */
  until(isSo: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (!isSo()) return;
      this.#watchers.delete(look);
      resolve();
    };
    this.#watchers.add(look);
    look();
    return within(promise, `requests with ${String(isSo)}`);
  }

  record(event: PushServiceEvent): void {
    if (event.type !== 'answered' && event.type !== 'fault') return;
    const what = event.type === 'answered' ? event.status : event.kind;
    if (what === 201) this.accepted += 1;
    this.seen.push({ atMs: this.#clock.now(), sink: event.subscription ?? '', what });
    for (const look of this.#watchers) look();
  }
}

/** A tenth and less of what they are by default: what fills a worker shows with fewer rows too. */
export const smallWorker: Partial<WorkerSettings> = {
  maxPageRows: 154,
  maxDetachedRows: 256,
  maxRetryRows: 50,
  retryLeaseRows: 25,
  readRows: 25,
  batchRows: 8,
  commitRows: 50,
  commitOtherRows: 25,
  stopGraceMs: 100,
};

/** Looks at it may move the clock by a little each, on a busy machine. */
const longestBroadcastMs = 400_000;

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** One store, and a push service for each protocol given; all gone after the test. */
export async function openStage(t: TestContext, ...spoken: readonly Protocol[]) {
  const closers: (() => unknown)[] = [];
  t.after(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const clock = new TestClock();
  const { store, remove } = await openTestStore(clock.now);
  closers.push(remove);
  const recorders: RecordingPushService[] = [];
  for (const protocol of spoken) {
    const recorder = await startRecorder(protocol, clock);
    closers.push(async () => {
      await recorder.port.close();
      await recorder.service.close();
    });
    recorders.push(recorder);
  }
  const pushServices = recorders.map(({ origin }) => origin);
  const ca = recorders.flatMap(({ service }) => service.ca);
  const policy = createEndpointPolicy(pushServices);

  const stored = () => store.subscriptions.page({ afterId: 0, limit: 100_000 });
  // leases never end here, so that what a worker held when it failed would be waited for in vain
  const workerFaults: unknown[] = [];
  const noteFault = (fault: unknown) => void workerFaults.push(fault);
  const throwWorkerFault = () => {
    if (workerFaults.length > 0) throw new AggregateError(workerFaults, 'a worker has failed');
  };
  return {
    store,
    /** Of the store, and of senders that deliver in this thread. */
    clock,
    recorders: recorders as readonly RecordingPushService[],
    /** Stores subscriptions, the ids in the order given. */
    enroll: async (subscriptions: readonly PushSubscriptionJson[], keys: VapidKeys = vapidKeys) => {
      await store.subscriptions.putAll(
        subscriptions.map((subscription) => ({
          subscription: parseSubscription(subscription, policy),
          vapidPublicKey: keys.publicKey,
        })),
      );
      const byEndpoint = new Map((await stored()).map((row) => [row.endpoint, row]));
      return subscriptions.map(({ endpoint }) => byEndpoint.get(endpoint) as StoredSubscription);
    },
    stored,
    /** A sender to these push services; closed with the stage. */
    sender: (options: Partial<SenderOptions> = {}): Sender => {
      const sender = createSender({
        vapid,
        store,
        pushServices,
        ca,
        threads: 0,
        retryPolicy: fastRetries,
        // no answer is too late unless the test says so
        connectTimeoutMs: never,
        responseTimeoutMs: never,
        // threads have the real clock
        ...((options.threads ?? 0) === 0 && {
          now: clock.now,
          monotonicNow: clock.monotonicNow,
          startTimer: clock.startTimer,
        }),
        ...options,
        worker: { leaseMs: never, ...options.worker },
      });
      closers.push(() => sender.close());
      return {
        ...sender,
        work: (signal, onFault = noteFault) => sender.work(signal, onFault),
        broadcast: async (...args) => {
          const run = await sender.broadcast(...args);
          run.finished.catch(noteFault);
          return run;
        },
      };
    },
    /** Resolves when the work on it has ended. The clock is moved whenever nothing has reached a push service for a moment. */
    finish: async ({ broadcast, finished }: BroadcastRun): Promise<Broadcast> => {
      const endMs = performance.now() + longestBroadcastMs;
      const settled = finished.then(() => true);
      for (let quietLooks = 0; performance.now() < endMs;) {
        const before = countRequests(recorders);
        if (await Promise.race([settled, sleep(5, false)])) return finished;
        // a busy machine needs more time for as many turns of the event loop
        for (let turn = 0; turn < 20; turn += 1) await nextTurn();
        quietLooks = countRequests(recorders) === before ? quietLooks + 1 : 0;
        // by more where it has been quiet for long, since what is left then waits for its time
        if (quietLooks > 0) clock.advance(quietLooks > 20 ? 1000 : 100);
      }
      throw new Error(`Broadcast ${broadcast.id} has not ended after ${longestBroadcastMs / 1000} s.`);
    },
    /** Reads a broadcast until it `isSo`. */
    until: (broadcastId: number, isSo: (broadcast: Broadcast) => boolean): Promise<Broadcast> =>
      until(
        async () => {
          const broadcast = await store.broadcasts.find(broadcastId);
          assert.ok(broadcast);
          throwWorkerFault();
          return isSo(broadcast) && broadcast;
        },
        `a broadcast with ${String(isSo)}`,
        longestBroadcastMs,
      ),
    /** What was tried for each subscription, by id and in order. */
    attempts: async (broadcastId: number) => {
      const newestFirst = await store.attempts.list({ broadcastId, limit: 100_000 });
      return Map.groupBy(newestFirst.toReversed(), ({ subscriptionId }) => subscriptionId);
    },
  };
}

/** One store and one push service, with `count` sinks of it stored. */
export async function openStageWithRecorder(t: TestContext, protocol: Protocol, count = 0) {
  const stage = await openStage(t, protocol);
  const [recorder] = stage.recorders;
  assert.ok(recorder);
  const sinks = recorder.sinks(count);
  const rows = await stage.enroll(sinks);
  return { stage, recorder, sinks, rows };
}

/** One store and one push service, with rows of it stored, some of which it always refuses. */
export async function openStageWithJunk(
  t: TestContext,
  protocol: Protocol,
  { good, junk, isJunk }: { good: number; junk: number; isJunk: (index: number) => boolean },
) {
  const { stage, recorder: pushService } = await openStageWithRecorder(t, protocol);
  const sinks = pushService.sinks(good + junk);
  for (const [index, { endpoint }] of sinks.entries()) {
    if (isJunk(index)) pushService.faults.inject({ kind: 'status', status: 401, endpoint });
  }
  await stage.enroll(sinks);
  const goodSinks = sinks.filter((_, index) => !isJunk(index));
  const junkSinks = sinks.filter((_, index) => isJunk(index));
  assert.equal(goodSinks.length, good);
  return { stage, pushService, goodSinks, junkSinks };
}

async function startRecorder(protocol: Protocol, clock: TestClock): Promise<RecordingPushService> {
  const port = new SwitchablePort();
  await port.open();
  const isSecure = protocol === 'HTTP/2';
  let recorder: RecordingPushService | undefined;
  const service = await startPushService({
    tls: isSecure,
    origin: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port.port}`,
    onEvent: (event) => recorder?.record(event),
  });
  port.forwardTo(service.port);
  recorder = new RecordingPushService(protocol, service, port, clock);
  return recorder;
}

/** Delivers to all who are stored, to the end, and checks that the counts add up. */
export async function broadcastToAll(
  stage: Stage,
  options: { readonly ttlSeconds?: number; readonly sender?: Partial<SenderOptions> } = {},
): Promise<Broadcast> {
  const { sender: senderOptions, ...pushOptions } = options;
  const sender = stage.sender(senderOptions);
  const run = await sender.broadcast('all', message, pushOptions);
  const broadcast = await stage.finish(run);
  checkSums(broadcast);
  assert.equal(broadcast.state, 'done');
  checkArrivals(broadcast, stage.recorders);
  await sender.close();
  return broadcast;
}

/**
 * What was counted is what arrived, as the push services say it: who is left out by mistake would be counted as removed, like
 * somebody who has unsubscribed. Only for a broadcast during which nobody has.
 */
export function checkArrivals({ counts }: Broadcast, recorders: readonly RecordingPushService[]): void {
  assert.equal(counts.removed, 0, 'nobody has unsubscribed');
  const tallies = recorders.flatMap(({ service }) => service.tallySinks());
  const arrived = tallies
    .flatMap(({ sinksByMessages }) => Object.entries(sinksByMessages))
    .reduce((sum, [messages, sinks]) => sum + (messages === '0' ? 0 : sinks), 0);
  assert.ok(arrived >= counts.accepted, `${counts.accepted} accepted, and ${arrived} have arrived`);
}

/** Every row of the audience is counted once, in all and by push service. */
export function checkSums(broadcast: Broadcast): void {
  const { recipients, counts, origins, state } = broadcast;
  const sum = Object.values(counts).reduce((total, count) => total + count, 0);
  assert.equal(sum, recipients, `the counts add up to the audience: ${JSON.stringify(counts)}`);
  for (const settlement of settlements) {
    const byOrigin = origins.reduce((total, origin) => total + origin[settlement], 0);
    assert.equal(byOrigin, counts[settlement], `${settlement}, by push service`);
  }
  if (state === 'done') assert.equal(counts.pending, 0);
}

function tokenOf({ endpoint }: PushSubscriptionJson): string {
  return endpoint.slice(endpoint.lastIndexOf('/') + 1);
}

function countRequests(recorders: readonly RecordingPushService[]): number {
  return recorders.reduce((sum, { seen }) => sum + seen.length, 0);
}
