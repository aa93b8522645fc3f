import assert from 'node:assert/strict';
import { test } from 'node:test';

import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import type { Destinations } from '../../src/delivery/message-path/destinations.ts';
import { defaultWorkerSettings, maxUncommittedOf } from '../../src/delivery/settings/worker-settings.ts';
import { Workload, type WorkloadParts } from '../../src/delivery/worker/workload.ts';
import type { Broadcast, Recipient } from '../../src/store/broadcasts.ts';
import { PayloadSource, type ReaderParts } from '../../src/delivery/worker/row-payloads.ts';
import type { RowResult } from '../../src/store/ledger.ts';

const settings = { ...defaultWorkerSettings, maxPageRows: 4, maxDetachedRows: 4 };
const origin = 'https://fcm.googleapis.com';
const broadcast = { id: 1, expiresAtMs: 1e15, ttlSeconds: 60 } as Broadcast;
const sliceRows = [1, 2, 3].map((position) => ({ position, endpoint: `${origin}/${position}` }));

/** Slices of three rows each, without end. */
const parts = {
  settings,
  leases: {
    leaseRetries: async () => undefined,
    leaseSlice: async () => ({ broadcastId: 1, broadcast, cursor: 0, throughPosition: sliceRows.length }),
  },
  payloads: new PayloadSource({} as ReaderParts, undefined),
  ledger: { readRows: async () => sliceRows, pushServices: async () => [] },
  destinations: {
    find: () => ({ origin, gate: new OriginGate(settings) }),
    loadKeys: async () => {},
    setStates: () => {},
  } as unknown as Destinations,
  onSlice: () => {},
} as unknown as WorkloadParts;

test('retries are leased where the settings have room for fewer than are leased at once', async () => {
  const limits: number[] = [];
  const leaseRetries = async ({ limit }: { readonly limit: number }) => {
    limits.push(limit);
    const rows = sliceRows.slice(0, limit).map((row) => ({ ...row, deferrals: 0 }));
    return { broadcastId: 1, broadcast, rows };
  };
  for (const small of [{ maxDetachedRows: 2 }, { maxRetryRows: 3 }]) {
    const workload = new Workload({
      ...parts,
      settings: { ...settings, ...small },
      leases: { ...parts.leases, leaseRetries } as unknown as WorkloadParts['leases'],
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

test('a broadcast that has the id of one which a restored database lacks is sent with its own message', async () => {
  const source = new PayloadSource({} as ReaderParts, undefined);
  for (const [createdAtMs, text] of ['before', 'after'].entries()) {
    const made = { ...broadcast, createdAtMs, payload: Buffer.from(text) };
    const payload = (await source.of(made))(undefined)({} as Recipient, {});
    assert.deepEqual(payload, Buffer.from(text));
  }
});
