// A worker: how much it takes on, what it does with its rows, and how it goes on after faults, its own and those of callbacks.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import type { Destination } from '../../src/delivery/message-path/destinations.ts';
import type { SenderOptions } from '../../src/delivery/sender.ts';
import { defaultWorkerSettings, maxUncommittedOf } from '../../src/delivery/settings/settings.ts';
import { Assignment, type AssignedRow } from '../../src/delivery/worker/assignment.ts';
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
const destination = { origin, gate: new OriginGate(settings) } as Destination;
const recipient = (position: number) => ({ position, endpoint: `${origin}/${position}` }) as Recipient;
const sliceRows = [1, 2, 3].map(recipient);
const acceptedOf = (row: AssignedRow) => ({ recipient: row.recipient, result: 'accepted' }) as RowResult;

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
  path: { destinations: { find: () => destination, loadKeys: async () => {}, setStates: () => {} } },
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
      for (const row of workload.takeRows(0, 0)) {
        sent += 1;
        row.assignment.settle(row, acceptedOf(row));
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
    const payload = (await source.of(made))(undefined, {} as Recipient, {});
    assert.deepEqual(payload, Buffer.from(text));
  }
});

// The rows under one lease.

const noPayloads = () => new Uint8Array();
const take = (assignment: Assignment) => assignment.takeRow(() => destination, 0, 0);
const never = (): boolean => false;
const lease = { broadcastId: 1, fenceToken: 'token' };
const untilEnd = { ...lease, broadcast: openBroadcast, slice: 0, cursor: 0, throughPosition: 100 };

function sliceOf(positions: readonly number[], throughPosition: number) {
  const assignment = new Assignment({ ...untilEnd, throughPosition }, noPayloads);
  assignment.addRead(positions.map(recipient), true);
  const rows = positions.map(() => take(assignment)!);
  assert.equal(take(assignment), undefined);
  return { assignment, rows };
}

test('a row that is detached lets the cursor pass, and is settled by itself later', () => {
  const { assignment, rows } = sliceOf([1, 2, 3], 3);
  const [one, two, three] = rows as [AssignedRow, AssignedRow, AssignedRow];
  assignment.settle(two, acceptedOf(two));
  assignment.settle(three, acceptedOf(three));
  const page = assignment.takePage(() => true, 5000);
  assert.equal(page?.cursors?.cursor, 3);
  assert.deepEqual(
    page?.rows.map(({ result, retry }) => [result, retry?.delayMs]),
    [
      ['detached', 5000],
      ['accepted', undefined],
      ['accepted', undefined],
    ],
  );
  assert.equal(assignment.isDone, false);
  assert.equal(assignment.detachedRows, 1);
  assignment.recordCommitted(page!.rows);
  assert.equal(assignment.uncommittedRows, 1, 'its answer is not stored yet');
  assignment.settle(one, acceptedOf(one));
  assert.deepEqual(assignment.takeDetached(), { rows: [acceptedOf(one)] });
  assignment.recordCommitted([acceptedOf(one)]);
  assert.equal(assignment.uncommittedRows, 0);
  assert.equal(assignment.isDone, true);
});

test('an assignment of which nothing is left is not cut short by a stop', () => {
  const { assignment, rows } = sliceOf([1], 10);
  const [one] = rows as [AssignedRow];
  assignment.stop();
  assignment.settle(one, acceptedOf(one));
  assert.equal(assignment.takePage(never, 0)?.cursors?.cursor, 10);
  assert.equal(assignment.isUnfinished, false);
});

test('rows that arrive after the stop are not taken', () => {
  const assignment = new Assignment(untilEnd, noPayloads);
  assignment.stop();
  assignment.addRead([recipient(1)], true);
  assert.equal(take(assignment), undefined);
  assert.equal(assignment.takePage(never, 0), undefined, 'the cursor stays');
});

test('what cannot happen is told and not gone along with', () => {
  const { assignment, rows } = sliceOf([1], 10);
  const [one] = rows as [AssignedRow];
  assert.throws(() => assignment.addRead([recipient(2)], true), /read only where some are left/);
  assignment.settle(one, acceptedOf(one));
  assert.throws(() => assignment.settle(one, acceptedOf(one)), /settled once/);
});

test('a row that was not tried yet expires so long after the time of its own reader', () => {
  const startAtMs = Date.parse('2026-12-01T11:00:00Z');
  const times = { localTime: '2026-12-01T13:00', timeZone: 'UTC', startAtMs, ttlSeconds: 7200 };
  for (const [timeZone, hours] of [
    ['America/New_York', 7 + 2],
    ['Europe/Berlin', 1 + 2],
    // over at the start: the next day
    ['Asia/Tokyo', 17 + 2],
    [undefined, 2 + 2],
  ] as const) {
    const reader = { language: undefined, timeZone };
    const assignment = new Assignment(
      { ...untilEnd, broadcast: { ...openBroadcast, ...times }, reader },
      noPayloads,
    );
    assignment.addRead([recipient(1)], true);
    assert.equal(take(assignment)?.tries.expiresAtMs, startAtMs + hours * 3_600_000, timeZone ?? 'none');
  }
});

test('retries are detached from the start and keep their tries', () => {
  const tries = { attempts: 2, deferrals: 3, expiresAtMs: 9000, refusals: 1, doubts: 2 };
  const rows = [{ ...recipient(7), ...tries, ifRefused: 'retry' }] as const;
  const assignment = new Assignment(
    { ...lease, broadcast: openBroadcast, rows, areProbes: false },
    noPayloads,
  );
  assert.equal(assignment.detachedRows, 1);
  const row = take(assignment) as AssignedRow;
  assert.deepEqual(row.tries, tries);
  assert.equal(row.ifRefused, 'retry');
  assert.equal(assignment.pageRows, 0);
  assignment.settle(row, acceptedOf(row));
  assert.equal(assignment.takePage(never, 0), undefined);
  assert.equal(assignment.takeDetached()?.cursors, undefined);
  assert.equal(assignment.isDone, true);
  assert.equal(assignment.isUnfinished, false);
});

// How long it waits after faults.

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
  class FailingLog {
    readonly of = 'all';
    readonly #fail = fail;
    write(): void {
      this.#fail();
    }
  }
  const options: Readonly<Record<string, Partial<SenderOptions>>> = {
    onWarning: { onWarning: fail },
    onFigures: { onFigures: fail },
    messageLog: { messageLog: new FailingLog() },
  };
  for (const [name, given] of Object.entries(options)) {
    test(name, async () => {
      calls = 0;
      // a clock that differs from that of push services is a warning
      await using bench = await openBroadcastBench({ now: () => Date.now() + hourMs, rows, tls: true });
      const sender = bench.createSender(given);
      const { finished } = await sender.broadcast('all', message);
      assertDone(await within(finished, 'the end of the broadcast'), { accepted: rows });
      assert.deepEqual(timesReceived(bench.pushService), { 1: rows });
      const [subscription] = await bench.store.subscriptions.page({ afterId: 0, limit: 1 });
      const { outcome } = await within(sender.send(subscription!, message), 'a single message');
      assert.equal(outcome.kind, 'accepted');
      assert.ok(calls > 0, 'it was called');
    });
  }

  test('onFault of work()', async () => {
    calls = 0;
    await using bench = await openBroadcastBench({ rows });
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
    assert.deepEqual(timesReceived(bench.pushService), { 1: rows });
    assert.equal(calls, 1);
  });
});
