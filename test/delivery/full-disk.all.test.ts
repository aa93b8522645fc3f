// A disk that is really full: delivery waits and says so, loses nothing, and goes on when there is room.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, rmdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createSender } from '../../src/delivery/sender.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { waitForDiskSpace } from '../../src/delivery/worker/create-worker.ts';
import { DiskFullError } from '../../src/store/database-content.ts';
import { copyDatabase } from '../../src/store/sqlite/backup.ts';
import { inspectDatabase } from '../../src/store/sqlite/inspect-database.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { assertDone, message, storeSinks, timesReceived, vapid } from './broadcast-bench.ts';

const audience = 1500;
const folder = mkdtempSync(join(tmpdir(), 'deskbell-full-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', folder]).status === 0;
const skip = !mounted && process.env['CI'] !== 'true' && 'a disk of its own cannot be mounted here';
const filler = join(folder, 'filler');

/** Takes all the room that there is. */
function fill(): void {
  const fd = openSync(filler, 'w');
  try {
    for (const size of [65_536, 4096, 512]) {
      try {
        for (;;) writeSync(fd, Buffer.alloc(size));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** A broadcast that the disk becomes too small for after its first answer. */
async function startBroadcast() {
  let fillOnce = fill;
  const pushService = await startPushService({
    checksBodies: false,
    onEvent: ({ type }) => {
      if (type !== 'answered') return;
      fillOnce();
      fillOnce = () => {};
    },
  });
  const directory = mkdtempSync(join(folder, 'data-'));
  const store = await openSqliteStore({ path: join(directory, 'deskbell.db') });
  await storeSinks(store, pushService, audience);
  const warnings: string[] = [];
  const isFull = Promise.withResolvers<void>();
  const onWarning = (warning: string): void => {
    warnings.push(warning);
    isFull.resolve();
  };
  const pushServices = [pushService.origin];
  const sender = createSender({
    vapid,
    store,
    threads: 0,
    pushServices,
    worker: { leaseMs: 1000 },
    onWarning,
  });
  const run = await sender.broadcast('all', message);
  await isFull.promise;
  return {
    pushService,
    store,
    sender,
    run,
    warnings,
    [Symbol.asyncDispose]: async () => {
      await sender.close();
      await store.close();
      await pushService.close();
      rmSync(directory, { recursive: true });
    },
  };
}

const everySecond = [1000];
/** A worker without results asks for work less often, so that others can store theirs first. */
const everyTenSeconds = [10_000];

test('whatever a worker writes waits for free space, and looks for it every second or ten', async () => {
  const expected = {
    leases: {
      leaseSlice: everyTenSeconds,
      leaseRetries: everyTenSeconds,
      renew: everySecond,
      release: everySecond,
    },
    ledger: { commit: everySecond, recordAnswers: everySecond, readRows: everySecond },
    rates: { take: everySecond },
  };
  const warnings: string[] = [];
  const delays: number[] = [];
  let isFull = true;
  const write = async () => {
    if (!isFull) return 'written';
    isFull = false;
    throw new DiskFullError('of the test', undefined);
  };
  const writing = (names: object) => Object.fromEntries(Object.keys(names).map((name) => [name, write]));
  const parts = Object.entries(expected).map(([part, names]) => [part, writing(names)]);
  const waiting: Record<string, object> = waitForDiskSpace(Object.fromEntries(parts) as unknown as Store, {
    clock: {
      startTimer: (end, delayMs) => {
        delays.push(delayMs);
        setImmediate(end);
        return { cancel: () => {} };
      },
    },
    now: Date.now,
    onWarning: (warning) => warnings.push(warning),
    signal: new AbortController().signal,
  });
  for (const [part, names] of Object.entries(expected)) {
    for (const [name, delaysOfName] of Object.entries(names)) {
      isFull = true;
      const patiently = Reflect.get(waiting[part]!, name) as typeof write;
      assert.equal(await patiently(), 'written');
      assert.deepEqual(delays.splice(0), delaysOfName, name);
      assert.equal(warnings.splice(0).length, 2);
    }
  }
});

describe('on a full disk', { skip }, () => {
  before(() => assert.ok(mounted, 'a disk of its own can be mounted'));
  after(() => {
    if (mounted) spawnSync('umount', [folder]);
    rmdirSync(folder);
  });

  test('a broadcast waits with an alarm, keeps what it has sent, and goes on when there is room', async () => {
    await using bench = await startBroadcast();
    const { pushService, store, run, warnings } = bench;
    assert.match(warnings[0] ?? '', /^The disk of the database is full: sending waits for free space \(20/);
    await assert.rejects(store.check(), { code: 'ERR_STORE_UNAVAILABLE' });
    const { counts, state } = (await store.broadcasts.find(run.broadcast.id)) ?? {};
    assert.equal(state, 'running');
    assert.equal((counts?.accepted ?? 0) + (counts?.pending ?? 0), audience);

    rmSync(filler);
    assertDone(await run.finished, { accepted: audience });
    assert.deepEqual(timesReceived(pushService), { 1: audience }, 'nothing was sent twice');
    assert.equal(warnings.length, 2);
    assert.match(warnings[1] ?? '', /^The disk of the database has free space again: sending continues/);
  });

  test('a database is not opened, which says that the disk is full', async () => {
    const directory = mkdtempSync(join(folder, 'data-'));
    const path = join(directory, 'deskbell.db');
    await (await openSqliteStore({ path })).close();
    fill();
    await assert.rejects(openSqliteStore({ path }), (error) => error instanceof DiskFullError);
    rmSync(filler);
    rmSync(directory, { recursive: true });
  });

  test('a database is copied to another disk, also where no process has it open', async () => {
    const directory = mkdtempSync(join(folder, 'data-'));
    const path = join(directory, 'deskbell.db');
    const store = await openSqliteStore({ path });
    await store.sending.pause('asked');
    await store.close();
    fill();
    const copy = join(mkdtempSync(join(tmpdir(), 'deskbell-copy-')), 'deskbell.db');
    await copyDatabase(path, copy);
    rmSync(filler);
    chmodSync(copy, 0o600);
    assert.equal((await inspectDatabase(copy)).content?.pause?.reason, 'asked');
    await (await openSqliteStore({ path })).close();
    for (const made of [directory, dirname(copy)]) rmSync(made, { recursive: true });
  });

  test('a broadcast can be stopped while it waits, and resumed later', async () => {
    await using bench = await startBroadcast();
    const { pushService, store, sender, run } = bench;
    await run.stop();
    await assert.rejects(run.finished, { code: 'ERR_STORE_UNAVAILABLE', message: /disk is full/ });
    assert.equal((await store.broadcasts.find(run.broadcast.id))?.state, 'running');

    rmSync(filler);
    const resumed = await sender.resume(run.broadcast.id);
    assertDone(await resumed.finished, { accepted: audience });
    assert.equal(timesReceived(pushService)[0], undefined, 'nothing was left out');
  });
});
