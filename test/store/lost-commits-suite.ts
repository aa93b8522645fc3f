// A database that has lost its last commits, as a standby that is promoted has, while the worker that made them goes on: no row
// is skipped, whatever kind of commit was lost; rows may be sent again.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { PageOfSlice, RowResult } from '../../src/store/ledger.ts';
import type { RetryLease } from '../../src/store/leases.ts';
import {
  addSubscriptions,
  commitNext,
  commitPage,
  commitRows,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;
const audience = 30;

/** What a broadcast's progress is stored in. */
const tables = ['slices', 'retries', 'broadcasts', 'origin_counts', 'work'];

const each = (statement: (name: string) => string): string => tables.map(statement).join('; ');

describe(`after the last commits were lost: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);
  beforeEach(() => addSubscriptions(store, audience));

  /** Takes note of the progress as it is. @returns what puts the tables back to it */
  const remember = async (): Promise<() => Promise<void>> => {
    const isSqlite = store.address.database === 'sqlite';
    await store.run(each((name) => `create table before_${name} as select * from ${name}`));
    return () =>
      store.run(
        isSqlite
          ? `pragma foreign_keys = off; ${each((name) => `delete from ${name}; insert into ${name} select * from before_${name}`)}`
          : `set session_replication_role = replica; ${each((name) => `delete from ${name}; insert into ${name} overriding system value select * from before_${name}`)}`,
      );
  };

  const broadcastToAll = async (): Promise<number> =>
    (await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: audience }))).broadcast.id;

  const leaseRetries = async (): Promise<RetryLease> => {
    const retries = await store.leases.leaseRetries({ leaseMs, limit: 100 });
    assert.ok(retries);
    return retries;
  };

  /** A broadcast each row of which is stored as a retry, which is due. @returns its id */
  const retryAll = async (): Promise<number> => {
    const id = await broadcastToAll();
    await commitNext(store, withRetry(origin, nowMs, { delayMs: 1000 }));
    nowMs += 1000;
    return id;
  };

  /** Has every row accepted that the store gives to workers from now on. @returns their positions */
  const deliverRest = async (): Promise<number[]> => {
    const { leases, ledger } = store;
    const positions: number[] = [];
    for (;;) {
      nowMs += leaseMs;
      const slice = await leases.leaseSlice({ leaseMs });
      const retries = await leases.leaseRetries({ leaseMs, limit: 100 });
      if (slice !== undefined) {
        const rows = await ledger.readRows(slice, slice.cursor, 1000);
        positions.push(...rows.map(({ position }) => position));
        await commitPage(store, slice, rows.map(accepted));
      }
      if (retries !== undefined) {
        positions.push(...retries.rows.map(({ position }) => position));
        await commitRows(store, retries, retries.rows.map(accepted));
      }
      if (slice === undefined && retries === undefined) return positions;
    }
  };

  const assertNobodySkipped = async (id: number, delivered: readonly number[]): Promise<void> => {
    assert.equal(new Set(delivered).size, audience, 'each row was sent at least once');
    const broadcast = await store.broadcasts.find(id);
    assert.equal(broadcast?.state, 'done');
    assert.equal(broadcast.counts.accepted, audience, 'each row is counted once');
    assert.equal(broadcast.counts.removed, 0);
  };

  test('a page is refused whose predecessor was lost', async () => {
    const id = await broadcastToAll();
    const slice = await leaseNext(store);
    const rows = await store.ledger.readRows(slice, slice.cursor, audience);
    const [first, second, third] = [rows.slice(0, 10), rows.slice(10, 20), rows.slice(20)];
    const commit = (page: readonly Recipient[], cursors: Partial<PageOfSlice>) =>
      commitPage(store, slice, page.map(accepted), cursors);
    await commit(first, { cursor: end(first) });
    const restore = await remember();
    await commit(second, { fromCursor: end(first), cursor: end(second) });

    await restore();
    assert.equal((await commit(third, { fromCursor: end(second) })).isLeaseLost, true);
    const delivered = [...first, ...third].map(({ position }) => position);
    await assertNobodySkipped(id, [...delivered, ...(await deliverRest())]);
  });

  test('a row counts for nobody whose detachment was lost, and is sent again', async () => {
    const id = await broadcastToAll();
    const slice = await leaseNext(store);
    const rows = await store.ledger.readRows(slice, slice.cursor, audience);
    const restore = await remember();
    const results = rows.map((row, index) => (index < 2 ? detached(row, nowMs) : accepted(row)));
    await commitPage(store, slice, results);

    await restore();
    const answer = await commitRows(store, slice, rows.slice(0, 2).map(accepted));
    assert.equal(answer.isLeaseLost, false, 'the slice is still leased under the token');
    assert.equal((await store.broadcasts.find(id))?.counts.accepted, 0);
    const delivered = rows.slice(0, 2).map(({ position }) => position);
    await assertNobodySkipped(id, [...delivered, ...(await deliverRest())]);
  });

  test('retries count for nobody whose lease was lost, and are sent again', async () => {
    const id = await retryAll();
    const restore = await remember();
    const retries = await leaseRetries();

    await restore();
    assert.equal((await commitRows(store, retries, retries.rows.map(accepted))).isLeaseLost, true);
    assert.equal((await store.broadcasts.find(id))?.counts.accepted, 0);
    await assertNobodySkipped(id, await deliverRest());
  });

  test('of retries that are leased in part, those are counted', async () => {
    const id = await retryAll();
    const retries = await leaseRetries();
    const taken = retries.rows.slice(0, 5).map(({ position }) => position);
    await store.run(`update retries set token = 'another' where position in (${taken.join(', ')})`);

    assert.equal((await commitRows(store, retries, retries.rows.map(accepted))).isLeaseLost, false);
    assert.equal((await store.broadcasts.find(id))?.counts.accepted, audience - 5);
    assert.equal((await store.broadcasts.find(id))?.origins[0]?.attempts, 2 * audience - 5);
    await assertNobodySkipped(id, [
      ...retries.rows.map(({ position }) => position),
      ...(await deliverRest()),
    ]);
  });
});

const end = (page: readonly Recipient[]): number => page.at(-1)!.position;

const accepted = withResult(origin, 'accepted');

const detached = (recipient: Recipient, nowMs: number): RowResult => ({
  recipient,
  origin,
  attempts: 0,
  result: 'detached',
  retry: { delayMs: leaseMs, attempts: 0, deferrals: 0, expiresAtMs: nowMs + 3_000_000 },
});
