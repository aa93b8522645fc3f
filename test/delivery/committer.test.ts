// When a worker commits, and what it logs of what it has committed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import type { Assignment } from '../../src/delivery/worker/assignment.ts';
import { Committer, type CommitterParts } from '../../src/delivery/worker/committer.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/worker-settings.ts';
import { Workload, type WorkloadParts } from '../../src/delivery/worker/workload.ts';
import type { RowResult } from '../../src/store/ledger.ts';

const { commitRows, commitAcceptedRows } = defaultWorkerSettings;
const resultOf = (result: RowResult['result']) => ({ result }) as RowResult;

/** @returns how many results a commit waits for, the first of which is this one */
function resultsUntilDue(committer: Committer, first: RowResult): number {
  committer.countResult(first);
  for (let count = 2; ; count += 1) {
    committer.countResult(resultOf('accepted'));
    if (committer.isDue) return count;
  }
}

test('acceptances are committed many at a time, and fewer where anything else is among them', () => {
  const settings = defaultWorkerSettings;
  const workload = new Workload({ settings } as WorkloadParts);
  const committer = new Committer({ settings } as CommitterParts, workload, () => {});
  assert.equal(resultsUntilDue(committer, resultOf('accepted')), commitAcceptedRows);
  committer.commitAll();
  assert.equal(resultsUntilDue(committer, resultOf('gone')), commitRows);
  committer.commitAll();
  assert.equal(resultsUntilDue(committer, resultOf('accepted')), commitAcceptedRows);
});

test('messages are logged once their outcome is stored, and not where another worker has the lease', async () => {
  const settings = defaultWorkerSettings;
  const logged: unknown[] = [];
  for (const isLeaseLost of [true, false]) {
    const workload = new Workload({ settings } as WorkloadParts);
    const page = {
      rows: [{ ...resultOf('accepted'), recipient: { subscriptionId: 5 } }],
      cursors: undefined,
    };
    const assignment = { lease: { broadcastId: 7 }, takePage: () => page, takeDetached: () => undefined };
    workload.assignments.add({ ...assignment, recordCommitted: () => {} } as unknown as Assignment);
    const committed = Promise.withResolvers<void>();
    const parts = {
      settings,
      destinations: { takeAnswers: () => [], setStates: () => {} },
      ledger: { commit: async () => ({ isLeaseLost, state: 'running' }) },
      messageLog: { of: 'all', write: (records: readonly unknown[]) => logged.push(...records) },
      now: () => 0,
    } as unknown as CommitterParts;
    const committer = new Committer(parts, workload, committed.resolve);
    committer.commitAll();
    await committed.promise;
    committer.throwFault();
    assert.equal(logged.length, isLeaseLost ? 0 : 1);
  }
});

test('a worker that is stopped waits for a commit without keeping its thread busy', async () => {
  const settings = defaultWorkerSettings;
  const workload = new Workload({ settings } as WorkloadParts);
  const stored = Promise.withResolvers<object>();
  const pages = [{ rows: [], cursors: undefined }];
  const assignment = { lease: {}, takePage: () => pages.pop(), takeDetached: () => undefined };
  workload.assignments.add({ ...assignment, recordCommitted: () => {} } as unknown as Assignment);
  const parts = {
    settings,
    destinations: { takeAnswers: () => [], setStates: () => {} },
    ledger: { commit: () => stored.promise },
    leases: { release: async () => {} },
    now: () => 0,
  } as unknown as CommitterParts;
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
