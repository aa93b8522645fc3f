// A worker: how much it takes on, and how it goes on after faults, its own and those of callbacks.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import type { Destinations } from '../../src/delivery/message-path/destinations.ts';
import type { SenderOptions } from '../../src/delivery/sender.ts';
import { defaultWorkerSettings, maxUncommittedOf } from '../../src/delivery/settings/settings.ts';
import { restartAfterFaults } from '../../src/delivery/worker/run-workers.ts';
import { PayloadSource, type ReaderParts } from '../../src/delivery/worker/row-payloads.ts';
import { Worker } from '../../src/delivery/worker/worker.ts';
import { Workload, type WorkerParts } from '../../src/delivery/worker/workload.ts';
import type { Broadcast, Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { within } from '../../tools/until.ts';
import { assertDone, message, openBroadcastBench, timesReceived, untilDone } from './broadcast-bench.ts';

const settings = { ...defaultWorkerSettings, maxPageRows: 4, maxDetachedRows: 4 };
const origin = 'https://fcm.googleapis.com';
const openBroadcast = { id: 1, expiresAtMs: 1e15, ttlSeconds: 60 } as Broadcast;
const sliceRows = [1, 2, 3].map((position) => ({ position, endpoint: `${origin}/${position}` }));

/** Slices of three rows each, without end. */
const parts = {
  settings,
  leases: {
    leaseRetries: async () => undefined,
    leaseSlice: async () => ({
      broadcastId: 1,
      broadcast: openBroadcast,
      cursor: 0,
      throughPosition: sliceRows.length,
    }),
  },
  payloads: new PayloadSource({} as ReaderParts, undefined),
  ledger: { readRows: async () => sliceRows, pushServices: async () => [] },
  destinations: {
    find: () => ({ origin, gate: new OriginGate(settings) }),
    loadKeys: async () => {},
    setStates: () => {},
  } as unknown as Destinations,
  onSlice: () => {},
} as unknown as WorkerParts;

test('retries are leased where the settings have room for fewer than are leased at once', async () => {
  const limits: number[] = [];
  const leaseRetries = async ({ limit }: { readonly limit: number }) => {
    limits.push(limit);
    const rows = sliceRows.slice(0, limit).map((row) => ({ ...row, deferrals: 0 }));
    return { broadcastId: 1, broadcast: openBroadcast, rows };
  };
  for (const small of [{ maxDetachedRows: 2 }, { maxRetryRows: 3 }]) {
    const workload = new Workload({
      ...parts,
      settings: { ...settings, ...small },
      leases: { ...parts.leases, leaseRetries } as unknown as WorkerParts['leases'],
    });
    await workload.replenish(0);
    assert.equal(workload.detachedRows, limits.at(-1));
  }
  assert.deepEqual(limits, [2, 3]);
});

test('commits that take long leave no more rows to be repeated after a crash than the settings say', async () => {
  const workload = new Workload(parts);
  const commits: (() => void)[] = [];
  const sendAll = async (): Promise<number> => {
    let sent = 0;
    for (let turn = 0; turn < 10; turn += 1) {
      await workload.replenish(0);
      for (const row of workload.takeRows(0)) {
        sent += 1;
        row.assignment.settle(row, { recipient: row.recipient, result: 'accepted' } as RowResult);
      }
      for (const assignment of workload.assignments) {
        const page = assignment.takePage(() => false, 0);
        if (page !== undefined) commits.push(() => assignment.recordCommitted(page.rows));
      }
    }
    return sent;
  };
  assert.equal(await sendAll(), maxUncommittedOf(settings));
  for (const commit of commits.splice(0)) commit();
  assert.equal(await sendAll(), maxUncommittedOf(settings));
});

test('a worker goes on looking for work, and taking its share of rates, when the clock is set back', async () => {
  let [nowMs, monotonicMs, looks] = [1e12, 0, 0];
  const sharesAtMs: number[] = [];
  const worker = new Worker({
    ...parts,
    leases: {
      leaseSlice: async () => undefined,
      leaseRetries: async () => void (looks += 1),
      waitForWork: async () => {
        nowMs -= 3_600_000;
        monotonicMs += 10_000;
        return looks < 3 && monotonicMs < 100_000 ? 'idle' : 'over';
      },
    },
    rates: { replenish: async (atMs: number) => void sharesAtMs.push(atMs) },
    path: { transport: { isCutOff: () => false, withdraw: () => {} } },
    record: { now: () => nowMs },
    clock: { monotonicNow: () => monotonicMs, startTimer: () => ({ cancel: () => {} }) },
  } as unknown as WorkerParts);
  await worker.run(new AbortController().signal);
  assert.equal(looks, 3);
  assert.deepEqual(sharesAtMs, [0, 10_000, 20_000]);
});

test('a broadcast that has the id of one which a restored database lacks is sent with its own message', async () => {
  const source = new PayloadSource({} as ReaderParts, undefined);
  for (const [createdAtMs, text] of ['before', 'after'].entries()) {
    const made = { ...openBroadcast, createdAtMs, payload: Buffer.from(text) };
    const payload = (await source.of(made))(undefined)({} as Recipient, {});
    assert.deepEqual(payload, Buffer.from(text));
  }
});

/** @param lastsMs how long each run of the work lasts before it fails; the work is stopped after them */
async function pausesAfter(lastsMs: readonly number[]): Promise<number[]> {
  const stop = new AbortController();
  const pauses: number[] = [];
  const faults: unknown[] = [];
  let nowMs = 0;
  let run = 0;
  await restartAfterFaults(
    async () => {
      nowMs += lastsMs[run]!;
      run += 1;
      if (run === lastsMs.length) stop.abort();
      throw new Error(`fault ${run}`);
    },
    {
      stopped: stop.signal,
      onFault: (fault) => faults.push(fault),
      nowMs: () => nowMs,
      wait: async (ms) => {
        pauses.push(ms);
        nowMs += ms;
      },
    },
  );
  assert.deepEqual(
    faults.map(String),
    lastsMs.map((_, index) => `Error: fault ${index + 1}`),
  );
  return pauses;
}

test('work that fails again and again is started after ever longer pauses, a minute at most', async () => {
  assert.deepEqual(
    await pausesAfter([0, 0, 0, 0, 0, 0, 0, 0]),
    [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000],
  );
});

test('once it has lasted for a minute, the first pause after a fault is short again', async () => {
  assert.deepEqual(await pausesAfter([0, 0, 59_999, 60_000, 0]), [1000, 2000, 4000, 1000, 2000]);
});

// Callbacks of a sender that throw: everybody gets the message once, and nobody waits in vain.

const rows = 200;
const hourMs = 3_600_000;

describe('a function that throws disturbs no sending:', () => {
  let calls = 0;
  const fail = () => {
    calls += 1;
    throw new Error('the application has a fault');
  };
  const options: Readonly<Record<string, Partial<SenderOptions>>> = {
    onWarning: { onWarning: fail },
    onFigures: { onFigures: fail },
    messageLog: { messageLog: { of: 'all', write: fail } },
  };
  for (const [name, given] of Object.entries(options)) {
    test(name, async () => {
      calls = 0;
      // a clock that differs from that of push services is a warning
      await using bench = await openBroadcastBench(() => Date.now() + hourMs);
      const pushService = await bench.startPushService({ rows, tls: true });
      const sender = bench.createSender(given);
      const { finished } = await sender.broadcast('all', message);
      assertDone(await within(finished, 'the end of the broadcast'), { accepted: rows });
      assert.deepEqual(timesReceived(pushService), { 1: rows });
      const [subscription] = await bench.store.subscriptions.page({ afterId: 0, limit: 1 });
      const { outcome } = await within(sender.send(subscription!, message), 'a single message');
      assert.equal(outcome.kind, 'accepted');
      assert.ok(calls > 0, 'it was called');
    });
  }

  test('onFault of work()', async () => {
    calls = 0;
    await using bench = await openBroadcastBench();
    const pushService = await bench.startPushService({ rows });
    const { leaseSlice } = bench.store.leases;
    Object.assign(bench.store.leases, {
      leaseSlice: (...words: Parameters<typeof leaseSlice>) => {
        if (calls === 0) throw new Error('the store has a fault');
        return leaseSlice(...words);
      },
    });
    const sender = bench.createSender();
    const stop = new AbortController();
    const { broadcast } = await sender.createBroadcast('all', message);
    const working = sender.work(stop.signal, fail);
    await Promise.race([working, untilDone(bench.store, broadcast.id)]);
    stop.abort();
    await working;
    assert.deepEqual(timesReceived(pushService), { 1: rows });
    assert.equal(calls, 1);
  });
});
