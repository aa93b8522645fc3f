import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Committer, type CommitterParts } from '../../src/delivery/worker/committer.ts';
import { defaultWorkerSettings } from '../../src/delivery/worker/worker-settings.ts';
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
