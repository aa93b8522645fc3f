// When a worker commits, what it logs of what it has committed, and which messages the application’s log is told of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { printMessages } from '../../src/cli/serve/report-delivery.ts';
import {
  logMessage,
  logRows,
  type MessageLog,
  type MessageRecord,
} from '../../src/delivery/reports/message-log.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/settings.ts';
import type { Assignment } from '../../src/delivery/worker/assignment.ts';
import { Committer } from '../../src/delivery/worker/committer.ts';
import { Workload, type WorkerParts } from '../../src/delivery/worker/workload.ts';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { pluck } from '../../tools/pluck.ts';

const { commitRows, commitOtherRows } = defaultWorkerSettings;
const resultOf = (result: RowResult['result']) => ({ result }) as RowResult;

test('a commit waits for 1,024 results, whether all are accepted or not, but for no more than 256 others', () => {
  const settings = defaultWorkerSettings;
  const workload = new Workload({ settings } as WorkerParts);
  const committer = new Committer({ settings } as WorkerParts, workload, () => {});
  const resultsUntilDue = (others: number): number => {
    for (let count = 1; ; count += 1) {
      committer.countResult(resultOf(count > others ? 'accepted' : count % 2 === 0 ? 'gone' : 'rejected'));
      if (!committer.isDue) continue;
      committer.commitAll();
      return count;
    }
  };
  const counts = [0, 1, commitOtherRows - 1, commitOtherRows, 0].map(resultsUntilDue);
  assert.deepEqual(counts, [commitRows, commitRows, commitRows, commitOtherRows, commitRows]);
});

test('a lease is not renewed again while its renewal waits, as on a full disk', async () => {
  const settings = defaultWorkerSettings;
  const renewals: (() => void)[] = [];
  const leases = { renew: () => new Promise<void>((resolve) => renewals.push(resolve)) };
  const parts = { settings, leases } as unknown as WorkerParts;
  const workload = new Workload(parts);
  workload.assignments.add({ lease: { broadcastId: 7 } } as unknown as Assignment);
  const committer = new Committer(parts, workload, () => {});
  for (let third = 0; third < 3; third += 1) committer.renewAll();
  assert.equal(renewals.length, 1);
  renewals[0]!();
  await delay(0);
  committer.renewAll();
  assert.equal(renewals.length, 2);
});

test('leases are given back together, so that a database that is away holds up none of them after another', async () => {
  const settings = defaultWorkerSettings;
  const released: unknown[] = [];
  const away = new Promise<void>(() => {});
  const release = ({ broadcastId }: { readonly broadcastId: number }) => {
    released.push(broadcastId);
    return away;
  };
  const parts = { settings, leases: { release } } as unknown as WorkerParts;
  const workload = new Workload(parts);
  for (const broadcastId of [7, 8]) {
    const nothing = { takePage: () => undefined, takeDetached: () => undefined, isDone: false };
    workload.assignments.add({ lease: { broadcastId }, ...nothing } as unknown as Assignment);
  }
  void new Committer(parts, workload, () => {}).releaseAll();
  await delay(0);
  assert.deepEqual(released, [7, 8]);
});

test('messages are logged once their outcome is stored, and not where another worker has the lease', async () => {
  const settings = defaultWorkerSettings;
  const logged: unknown[] = [];
  for (const isLeaseLost of [true, false]) {
    const workload = new Workload({ settings } as WorkerParts);
    const page = {
      rows: [{ ...resultOf('accepted'), recipient: { subscriptionId: 5 } }],
      cursors: undefined,
    };
    const assignment = { lease: { broadcastId: 7 }, takePage: () => page, takeDetached: () => undefined };
    workload.assignments.add({ ...assignment, recordCommitted: () => {} } as unknown as Assignment);
    const committed = Promise.withResolvers<void>();
    const parts = {
      settings,
      path: {
        destinations: {
          takeAnswers: () => [],
          setStates: () => {},
          storeDormant: async () => Promise.reject(new Error('The store is away.')),
        },
      },
      ledger: { commit: async () => ({ isLeaseLost, state: 'running' }) },
      messageLog: { of: 'all', write: (records: readonly unknown[]) => logged.push(...records) },
      record: { now: () => 0 },
    } as unknown as WorkerParts;
    const committer = new Committer(parts, workload, committed.resolve);
    committer.commitAll();
    await committed.promise;
    assert.throws(() => committer.throwFault(), /away/, 'a later step failed');
    assert.equal(logged.length, isLeaseLost ? 0 : 1);
  }
});

test('a worker that is stopped waits for a commit without keeping its thread busy', async () => {
  const settings = defaultWorkerSettings;
  const workload = new Workload({ settings } as WorkerParts);
  const stored = Promise.withResolvers<object>();
  const pages = [{ rows: [], cursors: undefined }];
  const assignment = { lease: {}, takePage: () => pages.pop(), takeDetached: () => undefined };
  workload.assignments.add({ ...assignment, recordCommitted: () => {} } as unknown as Assignment);
  const parts = {
    settings,
    path: { destinations: { takeAnswers: () => [], setStates: () => {}, storeDormant: async () => {} } },
    ledger: { commit: () => stored.promise },
    leases: { release: async () => {} },
    record: { now: () => 0 },
  } as unknown as WorkerParts;
  const committer = new Committer(parts, workload, () => {});
  committer.commitAll();
  const before = performance.eventLoopUtilization();
  const released = committer.releaseAll();
  await delay(300);
  const { utilization } = performance.eventLoopUtilization(before);
  stored.resolve({ isLeaseLost: false, state: 'running' });
  await released;
  assert.ok(utilization < 0.5, `busy for ${utilization} of the time`);
});

// Which messages are told of, and what is told of each.

const origin = 'https://fcm.googleapis.com';

function openLog(of: MessageLog['of']) {
  const told: (readonly MessageRecord[])[] = [];
  return { told, log: { of, write: (records) => void told.push(records) } satisfies MessageLog };
}

const rowOf = (
  subscriptionId: number | undefined,
  result: RowResult['result'],
  more: Partial<RowResult>,
): RowResult => ({
  recipient: { subscriptionId, endpoint: `${origin}/secret` } as Recipient,
  origin,
  attempts: 1,
  result,
  ...more,
});

const rows = [
  rowOf(1, 'accepted', { record: { atMs: 0, attempt: 2, status: 201 } }),
  rowOf(2, 'retry', { record: { atMs: 0, attempt: 1, status: 503, reason: 'server-error' } }),
  rowOf(3, 'retry', { record: { atMs: 0, attempt: 2, reason: 'connection' } }),
  rowOf(4, 'refused', { record: { atMs: 0, attempt: 1, status: 403, reason: 'vapid-refused' } }),
  rowOf(undefined, 'rejected', { record: { atMs: 0, attempt: 1, status: 400 } }),
  rowOf(6, 'expired', { attempts: 0 }),
  // nothing has come of these yet
  rowOf(7, 'heldBack', { attempts: 0 }),
  rowOf(8, 'retry', { attempts: 0 }),
];

test('of a commit each message that is not accepted is told, every time it is tried', () => {
  const failed = openLog('failed');
  logRows(failed.log, 7, rows);
  assert.equal(failed.told.length, 1);
  assert.deepEqual(pluck(failed.told[0]!, 'subscriptionId', 'outcome', 'attempt', 'status', 'reason'), [
    [2, 'retry', 1, 503, 'server-error'],
    [3, 'retry', 2, undefined, 'connection'],
    [4, 'retry', 1, 403, 'vapid-refused'],
    [undefined, 'rejected', 1, 400, undefined],
    [6, 'expired', 0, undefined, undefined],
  ]);
  for (const { broadcastId, pushService } of failed.told[0]!)
    assert.deepEqual([broadcastId, pushService], [7, origin]);
  assert.doesNotMatch(JSON.stringify(failed.told), /secret/);
  const all = openLog('all');
  logRows(all.log, 7, rows);
  assert.deepEqual(
    all.told.flat().map(({ subscriptionId, outcome }) => [subscriptionId, outcome].join(' ')),
    ['1 accepted', '2 retry', '3 retry', '4 retry', ' rejected', '6 expired'],
  );
  logRows(failed.log, 7, rows.slice(0, 1));
  assert.equal(failed.told.length, 1, 'no call for nothing');
});

test('a single message is told without a broadcast, and with its subscription where it is stored', () => {
  const { told, log } = openLog('failed');
  const response = { status: 503, headers: {}, body: '' };
  const later = { kind: 'retry', reason: 'server-error', slowsOrigin: true } as const;
  logMessage(log, origin, 5, { outcome: { kind: 'accepted' } as const, response });
  logMessage(log, origin, 5, { outcome: later, response });
  logMessage(log, origin, undefined, { outcome: { ...later, reason: 'connection' }, response: undefined });
  const common = { pushService: origin, outcome: 'retry', attempt: 1 } as const;
  assert.deepEqual(told, [
    [{ ...common, subscriptionId: 5, status: 503, reason: 'server-error' }],
    [{ ...common, subscriptionId: undefined, status: undefined, reason: 'connection' }],
  ]);

  const lines: string[] = [];
  const output = { line: assert.fail, diagnostic: (line: string) => void lines.push(line) };
  printMessages(output, false)(told.flat());
  assert.deepEqual(lines, [
    'Message, subscription 5: retry at fcm.googleapis.com, status 503, server-error (attempt 1)',
    'Message, a subscription that is not stored: retry at fcm.googleapis.com, connection (attempt 1)',
  ]);
});
