import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import {
  type DeliveryReport,
  logDelivery,
  tellOnce,
  withReport,
} from '../../src/cli/serve/report-delivery.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestStore } from '../store/test-database.ts';
import { madeUpBroadcast } from '../store/store-under-test.ts';
import { within } from '../../tools/until.ts';

const away = () => new DeskbellError('ERR_STORE_UNAVAILABLE', 'The database cannot be reached.');

test('a fault that several report at the same time is told once, and again where it lasts', () => {
  const told: unknown[] = [];
  let nowMs = 0;
  const tell = tellOnce(
    (error) => told.push(String(error)),
    () => nowMs,
  );
  tell(away());
  tell(away());
  nowMs += 9_999;
  tell(away());
  assert.equal(told.length, 1);
  nowMs += 1;
  tell(away());
  tell(new Error('another one'));
  assert.deepEqual(told, [String(away()), String(away()), 'Error: another one']);
});

test('work and what reports of it tell of one fault together', async () => {
  const told: unknown[] = [];
  const report: DeliveryReport = {
    event: () => {},
    reachability: () => {},
    error: (error) => void told.push(String(error)),
  };
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  const fail = async () => {
    resolve();
    throw away();
  };
  const store = { senders: { list: fail }, broadcasts: { listOpen: fail, summaries: fail, list: fail } };
  await withReport(store as unknown as Pick<Store, 'broadcasts' | 'senders'>, report, {
    delivers: true,
    work: async (onFault) => {
      onFault(away());
      await isRead;
      onFault(away());
    },
  });
  assert.deepEqual(told, [String(away())]);
});

test('other processes that deliver are reported by each process, whether it delivers or not', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const startedAtMs = store.now();
  const sender = { kind: 'worker', pushServices: [] } as const;
  // this one comes first, and is left out
  const own = { machine: hostname(), processId: process.pid };
  await store.senders.put({ ...sender, ...own, id: 'own', startedAtMs: startedAtMs - 1 });
  // in containers, processes of several machines have the same id
  await store.senders.put({ ...sender, id: 'one', machine: 'push-1', processId: process.pid, startedAtMs });
  for (const delivers of [true, false]) {
    const reported = Promise.withResolvers<string>();
    const report: DeliveryReport = {
      event: () => {},
      reachability: () => {},
      worker: ({ machine, state }) => reported.resolve(`${machine} ${state}`),
      error: assert.fail,
    };
    await withReport(store, report, {
      delivers,
      work: async () => assert.equal(await within(reported.promise, 'the report'), 'push-1 started'),
    });
  }
});

test('the log of serve has workers that are lost, push services that cannot be reached and alarms as errors', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const records: Record<string, unknown>[] = [];
  const log = (level: string) => (record: object) => void records.push({ level, ...record });
  const report = logDelivery({ info: log('info'), error: log('error') });
  const worker = { machine: 'push-1', processId: 7, startedAtMs: 0 };
  for (const state of ['started', 'stopped', 'lost'] as const) report.worker?.({ ...worker, state });
  const origin = 'https://push.example.net';
  report.reachability({ state: 'unreachable', origin, sinceMs: 0, reason: '', machines: ['push-1'] });
  report.reachability({ state: 'reachable', origin });
  const { broadcast } = await store.broadcasts.create(madeUpBroadcast(0));
  const alarm = { origin, reason: 'bad-request', detail: 'BadPath', rows: 1, firstAtMs: 0 };
  await report.event({ kind: 'alarm', broadcast, alarm });
  const counts = { ...broadcast.counts, accepted: 2, gone: 1 };
  await report.event({ kind: 'state', broadcast: { ...broadcast, recipients: 3, counts } });
  const startedAt = '1970-01-01T00:00:00.000Z';
  const process = { event: 'worker', machine: 'push-1', processId: 7, startedAt };
  const service = { event: 'push service', pushService: origin };
  const why = 'push.example.net cannot be reached from push-1. Its messages wait and are tried again.';
  assert.deepEqual(records, [
    { level: 'info', ...process, state: 'started' },
    { level: 'info', ...process, state: 'stopped' },
    { level: 'error', ...process, state: 'lost' },
    { level: 'error', ...service, state: 'unreachable', since: startedAt, detail: why },
    { level: 'info', ...service, state: 'reachable', detail: 'push.example.net can be reached again.' },
    {
      level: 'error',
      event: 'alarm',
      broadcast: 1,
      pushService: origin,
      reason: 'bad-request',
      detail: 'BadPath',
    },
    { level: 'info', event: 'broadcast', broadcast: 1, state: 'done', recipients: 3, accepted: 2, gone: 1 },
  ]);
  report.error(away());
  const { level, event, detail } = records.at(-1)!;
  assert.deepEqual([level, event], ['error', 'delivery interrupted']);
  assert.match(String(detail), /The database cannot be reached/);
});
