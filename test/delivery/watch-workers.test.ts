// Which processes are reported to deliver: each once when it comes and once when it goes.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { watchWorkers, type WorkerEvent } from '../../src/delivery/broadcast/watch-workers.ts';
import type { SenderReports } from '../../src/store/sending.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { fastFolder } from '../../tools/fast-folder.ts';

const worker = {
  id: 'one',
  machine: 'push-1',
  processId: 7,
  kind: 'worker',
  startedAtMs: 5,
  pushServices: [],
} as const;
const everyMs = 5;
const isSeven = ({ processId }: { readonly processId: number }): boolean => processId === 7;
const fail = (error: unknown): void => assert.ifError(error);

async function openStore(t: TestContext) {
  const folder = await mkdtemp(join(fastFolder(), 'deskbell-workers-'));
  const path = join(folder, 'deskbell.db');
  let nowMs = Date.UTC(2027, 0, 1);
  const store = await openSqliteStore({ path, now: () => nowMs });
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  return { senders: store.senders, path, pass: (ms: number) => (nowMs += ms) };
}

/** Reads events, and does after each one what is to be done; ends after the last. */
async function watch(
  senders: Pick<SenderReports, 'list'>,
  steps: readonly ((event: WorkerEvent) => unknown)[],
  options: Parameters<typeof watchWorkers>[3] = {},
): Promise<readonly string[]> {
  const events: string[] = [];
  const stop = new AbortController();
  for await (const event of watchWorkers(senders, stop.signal, fail, { everyMs, ...options })) {
    const step = steps[events.length];
    events.push(`${event.machine} ${event.processId} ${event.state} ${event.startedAtMs}`);
    await step?.(event);
    if (events.length >= steps.length) stop.abort();
  }
  return events;
}

test('a process comes once, however many threads it has, and goes with the last of them', async (t) => {
  const { senders } = await openStore(t);
  await senders.put(worker);
  await senders.put({ ...worker, id: 'two', startedAtMs: 6 });
  await senders.put({ ...worker, id: 'single', kind: 'single', processId: 8 });
  const elsewhere = { ...worker, id: 'three', machine: 'push-2' };
  const events = await watch(senders, [
    async () => {
      await senders.remove('one');
      await senders.put(elsewhere);
    },
    () => senders.remove('two'),
    () => senders.put({ ...worker, id: 'four', startedAtMs: 9 }),
    () => {},
  ]);
  assert.deepEqual(events, [
    'push-1 7 started 5',
    'push-2 7 started 5',
    'push-1 7 stopped 5',
    'push-1 7 started 9',
  ]);
});

test('a process that gives no sign of life any more is lost, not stopped', async (t) => {
  const { senders, pass } = await openStore(t);
  await senders.put(worker);
  let looks = 0;
  const list = (): ReturnType<SenderReports['list']> => {
    looks += 1;
    // reports live for twenty seconds
    pass(1900);
    return senders.list();
  };
  assert.deepEqual(await watch({ list }, [() => {}, () => {}]), ['push-1 7 started 5', 'push-1 7 lost 5']);
  assert.equal(looks, 11);
});

test('a process that ends between two of its reports has stopped', async () => {
  // a report is repeated each eight seconds and lives for twenty, and there is a look every two
  for (const [looksAtReport, state] of [
    [5, 'stopped'],
    [10, 'lost'],
  ] as const) {
    let looks = 0;
    const list = async () => {
      looks += 1;
      return looks > looksAtReport ? [] : [{ ...worker, seenAtMs: 5 }];
    };
    const events = await watch({ list }, [() => {}, () => {}]);
    assert.deepEqual(events, ['push-1 7 started 5', `push-1 7 ${state} 5`]);
  }
});

test('a process can be left out', async (t) => {
  const { senders } = await openStore(t);
  await senders.put(worker);
  await senders.put({ ...worker, id: 'two', processId: 8 });
  assert.deepEqual(await watch(senders, [() => {}], { isLeftOut: isSeven }), ['push-1 8 started 5']);
});

test('a store that cannot be read is reported once, and watching goes on when it can be read again', async (t) => {
  const { senders, path } = await openStore(t);
  await senders.put(worker);
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  const stop = new AbortController();
  let errors = 0;
  let failures = 0;
  const onError = (): void => {
    errors += 1;
  };
  const list = async (): ReturnType<SenderReports['list']> => {
    try {
      return await senders.list();
    } catch (error) {
      failures += 1;
      if (failures === 3) database.exec('alter table hidden rename to senders');
      throw error;
    }
  };
  const events: string[] = [];
  for await (const { state } of watchWorkers({ list }, stop.signal, onError, { everyMs })) {
    events.push(state);
    if (state === 'stopped') stop.abort();
    else {
      await senders.remove(worker.id);
      database.exec('alter table senders rename to hidden');
    }
  }
  assert.deepEqual([errors, failures, events], [1, 3, ['started', 'stopped']]);
});
