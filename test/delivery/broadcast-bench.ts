// A store, a sender and push services for tests of broadcasts; everything is real and on loopback.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import type { BroadcastOptions } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createSender, type Sender, type SenderOptions } from '../../src/delivery/sender.ts';
import { startPushService, type PushService, type PushServiceOptions } from '../../src/push-service/index.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { Store } from '../../src/store/store.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { until } from '../../tools/until.ts';
import { noCounts } from '../store/made-up-subscription.ts';
import { openTestStore } from '../store/test-database.ts';
import { never } from './test-clock.ts';

export const vapidKeys = generateVapidKeys();
export const vapid = { ...vapidKeys, subject: 'mailto:push@example.org' };
export const message = { title: 'Ding dong', message: 'Tea is ready' };

/** Everything as by default, but in tenths of seconds. */
export const quickRetries: RetryPolicy = {
  firstDelayMs: 50,
  maxDelayMs: 400,
  maxAttempts: 30,
  firstDeferralMs: 50,
  maxDeferralMs: 400,
  maxRepeatsInDoubt: 30,
};

/** Rows in a transaction. */
const storedAtOnce = 5000;

/** `rows`: how many of its sinks are stored. */
type ServedOptions = PushServiceOptions & { readonly rows?: number };

export type BroadcastBench = Awaited<ReturnType<typeof openBroadcastBench>>;

/** @param options `now`: the store's clock; the others are those of the first push service */
export async function openBroadcastBench({
  now,
  ...first
}: { readonly now?: () => number } & ServedOptions = {}) {
  const { store, remove } = await openTestStore(now);
  const pushServices: PushService[] = [];
  const senders: Sender[] = [];
  const origins = () => pushServices.map(({ origin }) => origin);
  const startNext = async ({ rows = 0, ...options }: ServedOptions = {}): Promise<PushService> => {
    const pushService = await startPushService({ checksBodies: false, ...options });
    pushServices.push(pushService);
    if (rows > 0) await storeSinks(store, pushService, rows);
    return pushService;
  };

  return {
    store,
    pushService: await startNext(first),
    startPushService: startNext,
    /** Stores `count` sinks of a push service. @returns their endpoints */
    subscribe: (pushService: PushService, count: number) => storeSinks(store, pushService, count),
    /** A sender that admits all push services that were started, delivering in this thread unless told otherwise. */
    createSender(options: Partial<SenderOptions> = {}): Sender {
      const ca = pushServices.flatMap((pushService) => pushService.ca);
      const sender = createSender({
        vapid,
        store,
        threads: 0,
        pushServices: origins(),
        ca,
        retryPolicy: quickRetries,
        // no lease ends and no answer is too late unless the test says so: a busy machine would send again
        worker: { leaseMs: never },
        connectTimeoutMs: never,
        responseTimeoutMs: never,
        ...options,
      });
      senders.push(sender);
      return sender;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(senders.map((sender) => sender.close()));
      await Promise.all(pushServices.map((pushService) => pushService.close()));
      await remove();
    },
  };
}

/** Stores `count` sinks of a push service. @returns their endpoints */
export async function storeSinks(
  store: Store,
  pushService: PushService,
  count: number,
  vapidPublicKey = vapidKeys.publicKey,
): Promise<readonly string[]> {
  const policy = createEndpointPolicy([pushService.origin]);
  const sinks = [...pushService.createSinks(count, { vapidPublicKey })];
  for (let first = 0; first < count; first += storedAtOnce) {
    await store.subscriptions.putAll(
      sinks
        .slice(first, first + storedAtOnce)
        .map((sink) => ({ subscription: parseSubscription(sink, policy), vapidPublicKey })),
    );
  }
  return sinks.map(({ endpoint }) => endpoint);
}

/** Asserts that the broadcast is done and that its counts add up, and are these; all others are 0. */
export function assertDone(broadcast: Broadcast, counts: Partial<Broadcast['counts']>): void {
  assert.equal(broadcast.state, 'done');
  assert.deepEqual(broadcast.counts, { ...noCounts, ...counts });
  const sum = Object.values(broadcast.counts).reduce((total, count) => total + count, 0);
  assert.equal(sum, broadcast.recipients);
}

/** How often the sinks were sent to: `{1: 100}` means each of a hundred once. */
export function timesReceived(pushService: PushService): Readonly<Record<string, number>> {
  const times: Record<string, number> = {};
  for (const { sinksByMessages } of pushService.tallySinks()) {
    for (const [messages, sinks] of Object.entries(sinksByMessages)) {
      times[messages] = (times[messages] ?? 0) + sinks;
    }
  }
  return times;
}

/** @param threads 0: in this thread */
export function testReach(threads: number, protocol: 'HTTP/1.1' | 'HTTP/2', rows: number): void {
  test(`to all reaches each once, with ${threads} threads, ${protocol}`, async () => {
    await using bench = await openBroadcastBench({ tls: protocol === 'HTTP/2', rows });
    const run = await bench.createSender({ threads }).broadcast('all', message);
    assert.equal(run.isNew, true);
    assertDone(await run.finished, { accepted: rows });
    assert.deepEqual(timesReceived(bench.pushService), { 1: rows });
    assert.equal(await bench.store.broadcasts.openAudience(), 1, 'nobody was written down');
  });
}

/** A store whose broadcasts have slices of so many rows. */
export const withSlices = ({ broadcasts, ...store }: Store, sliceRows: number): Store => ({
  ...store,
  broadcasts: { ...broadcasts, create: (draft) => broadcasts.create({ ...draft, sliceRows }) },
});

/** Has a broadcast to all delivered by a sender that works on everything: with threads, however few rows it has. */
export async function deliver(
  store: Store,
  sender: Sender,
  options: BroadcastOptions = {},
): Promise<Broadcast> {
  const endWork = startWork(sender, (fault) => assert.fail(String(fault)));
  const { broadcast } = await sender.createBroadcast('all', message, options);
  const done = await untilDone(store, broadcast.id);
  await endWork();
  return done;
}

/** Has a sender work on everything. @returns a function that ends its work */
export function startWork(sender: Sender, onFault?: (fault: unknown) => void): () => Promise<void> {
  const stop = new AbortController();
  const working = sender.work(stop.signal, onFault);
  return () => {
    stop.abort();
    return working;
  };
}

/** @returns the broadcast once it is done */
export function untilDone({ broadcasts }: Pick<Store, 'broadcasts'>, id: number): Promise<Broadcast> {
  const findDone = async () => {
    const broadcast = await broadcasts.get(id);
    return broadcast.state === 'done' && broadcast;
  };
  return until(findDone, 'the end of the broadcast');
}
