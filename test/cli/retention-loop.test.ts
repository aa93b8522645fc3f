// What a process deletes by the configuration, and that the database file becomes smaller while it is in use.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { databasePathOf, openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { withRetention } from '../../src/cli/data/retention-loop.ts';
import type { RetentionLimits } from '../../src/store/retention.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import { temporaryFolder } from './run-command.ts';
import { until, within } from '../../tools/until.ts';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const forever = {
  keepBroadcastsDays: 'forever',
  keepAttemptsDays: 'forever',
  keepAuditDays: 'forever',
} as const;
const onError = (error: unknown): never => {
  throw error;
};

test('audit records older than the configuration says are deleted while work goes on, and others kept', async () => {
  const { store, close } = await openDataDirectory(await temporaryFolder());
  await store.audit.begin({ operator: 'ann', action: 'broadcast.pause' });
  const records = async () => (await store.audit.list({ limit: 10 })).length;
  const waitUntilPruned = async (): Promise<void> => {
    await until(async () => (await records()) === 0, 'the audit record to be deleted');
  };
  for (const [keepAuditDays, days] of [
    ['forever', 9999],
    [10, 9],
  ] as const) {
    const pruned = Promise.withResolvers<void>();
    const retention = {
      ...store.retention,
      shrink: async () => {
        pruned.resolve();
        return false;
      },
    };
    const now = () => Date.now() + days * dayMs;
    await withRetention({ retention, now }, { ...forever, keepAuditDays }, { onError }, () => pruned.promise);
    assert.equal(await records(), 1);
  }
  const later = { ...store, now: () => Date.now() + 11 * dayMs };
  await withRetention(later, { ...forever, keepAuditDays: 10 }, { onError }, waitUntilPruned);
  await close();
});

test('each setting is for its own data, and whom a cap per person has reached is known for seven days', async () => {
  const nowMs = 500 * dayMs;
  const before = (days: number): number => nowMs - days * dayMs;
  for (const [configuration, limits] of [
    [forever, { broadcastsBeforeMs: undefined, attemptsBeforeMs: undefined, auditBeforeMs: undefined }],
    [
      { keepBroadcastsDays: 300, keepAttemptsDays: 20, keepAuditDays: 1 },
      { broadcastsBeforeMs: before(300), attemptsBeforeMs: before(20), auditBeforeMs: before(1) },
    ],
  ] as const) {
    const asked = Promise.withResolvers<RetentionLimits>();
    const retention = {
      prune: async (given: RetentionLimits) => {
        asked.resolve(given);
        return false;
      },
      shrink: async () => false,
    };
    const work = async () => void (await asked.promise);
    await withRetention({ retention, now: () => nowMs }, configuration, { onError }, work);
    assert.deepEqual(await asked.promise, { ...limits, contactsBeforeMs: before(7) });
  }
});

test('what is older is looked for at the start and every hour, though it fails once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.timers.reset();
    syncBuiltinESMExports();
  });
  let looks = 0;
  const retention = {
    prune: async () => {
      looks += 1;
      if (looks === 1) throw new Error('the disk is full');
      return false;
    },
    shrink: async () => false,
  };
  const looksAfter = async (ms: number): Promise<number> => {
    t.mock.timers.tick(ms);
    await setImmediate();
    return looks;
  };
  await withRetention({ retention, now: Date.now }, forever, { onError: () => {} }, async () => {
    for (let hours = 1; hours <= 3; hours += 1) {
      assert.equal(await looksAfter(0), hours);
      assert.equal(await looksAfter(hourMs - 1), hours);
      t.mock.timers.tick(1);
    }
  });
});

test('a fault is told, and does not end the work', async () => {
  const faults: unknown[] = [];
  const told = new AbortController();
  const retention = {
    prune: () => Promise.reject(new Error('the disk is full')),
    shrink: async () => false,
  };
  const onFault = (error: unknown): void => {
    faults.push(error);
    told.abort();
  };
  await withRetention({ retention, now: Date.now }, forever, { onError: onFault }, async () => {
    if (!told.signal.aborted) await once(told.signal, 'abort');
  });
  assert.match(String(faults), /the disk is full/);
});

test('the file of the database shrinks while it is in use', async () => {
  const folder = await temporaryFolder();
  const { store, vapidKeys, close } = await openDataDirectory(folder);
  const path = databasePathOf(folder);
  const subscriptions = Array.from({ length: 20_000 }, (_, index) => ({
    subscription: madeUpSubscription(index),
    vapidPublicKey: vapidKeys.publicKey,
  }));
  await store.subscriptions.putAll(subscriptions);
  const other = new DatabaseSync(path);
  other.exec('delete from subscriptions');
  // more than a step deletes
  other.exec(`
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 5000)
    insert into audit (at_ms, operator, action) select number, 'ann', 'broadcast.pause' from numbers`);
  let steps = 0;
  const ended = Promise.withResolvers<void>();
  const retention = {
    ...store.retention,
    shrink: async () => {
      steps += 1;
      const hasMore = await store.retention.shrink();
      if (!hasMore) ended.resolve();
      return hasMore;
    },
  };
  const configuration = { ...forever, keepAuditDays: 1 };
  await withRetention({ ...store, retention }, configuration, { onError }, () =>
    within(ended.promise, 'the last step'),
  );
  const left = other.prepare('select count(*) as records from audit').get();
  other.close();
  assert.deepEqual({ ...left }, { records: 0 }, 'all that is older is deleted, in several steps');
  assert.ok(steps > 1, 'step by step');
  await close();
  const bytes = statSync(path).size;
  assert.ok(bytes < 6e6, `${bytes} bytes are left of more than ten million`);
});
