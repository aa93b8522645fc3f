// GET /v1/push-services and /v1/senders: what senders reported to the store, in whatever process they are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSenderReport } from '../../src/delivery/reports/sender-report.ts';
import { createTransport } from '../../src/transport/create-transport.ts';
import type { ReportedPushService, SenderReports } from '../../src/store/sending.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpBroadcast } from '../store/store-under-test.ts';
import { startOperator, startStage, stoppedClock } from './running-operator.ts';
import { until } from '../../tools/until.ts';

const untilReported = ({ senders }: Store) =>
  until(async () => (await senders.list()).length > 0, 'the report of a sender');

const origin = 'https://fcm.googleapis.com';
const reported: ReportedPushService = {
  origin,
  connections: 2,
  inFlight: 10,
  queued: 1,
  maxInFlight: 100,
  latencyMs: 20,
  answers: 1000,
  throttled: 1,
  unreachableMs: 5000,
  breaker: 'closed',
};

test('the figures of all senders are added up, and the worst breaker is shown', async (t) => {
  const { store, read } = await startOperator(t, { now: stoppedClock() });
  const head = { machine: 'push-1', processId: 7, startedAtMs: 1_800_000_000_000 };
  const failing = {
    ...reported,
    breaker: 'open',
    breakerReason: 'It is down.',
    latencyMs: 50,
    throttled: 3,
    unreachableMs: 60_000,
  } as const;
  const testing = { ...reported, breaker: 'half-open', breakerReason: 'It is being tested.' } as const;
  // neither the first nor the last of them alone
  for (const [id, kind, pushService] of [
    ['one', 'worker', reported],
    ['two', 'single', failing],
    ['zero', 'worker', testing],
  ] as const)
    await store.senders.put({ ...head, id, kind, pushServices: [pushService] });
  assert.deepEqual(await read('/v1/push-services'), {
    items: [
      {
        origin,
        senders: 3,
        connections: 6,
        inFlight: 30,
        queued: 3,
        maxInFlight: 300,
        latencyMs: 50,
        answers: 3000,
        throttled: 5,
        unreachableMs: 60_000,
        breaker: 'open',
        breakerReason: 'It is down.',
        refusedKeys: [],
        heldDeletions: 0,
      },
    ],
    next: null,
  });
  const put = { ...head, id: 'two', kind: 'single' } as const;
  await store.senders.put({ ...put, pushServices: [{ ...reported, latencyMs: 50 }] });
  const tested = await read<{ items: Record<string, unknown>[] }>('/v1/push-services');
  const { breaker, breakerReason } = tested.items[0]!;
  assert.deepEqual([breaker, breakerReason], ['half-open', 'It is being tested.'], 'worse than closed');
  await store.senders.remove('zero');
  const seen = (await store.senders.list()).map(({ seenAtMs }) => new Date(seenAtMs).toISOString());
  const startedAt = new Date(head.startedAtMs).toISOString();
  const { machine, processId } = head;
  assert.deepEqual((await read<{ items: object[] }>('/v1/senders')).items, [
    { id: 'one', kind: 'worker', machine, processId, startedAt, seenAt: seen[0] },
    { id: 'two', kind: 'single', machine, processId, startedAt, seenAt: seen[1] },
  ]);
  const page = await read<{ items: { id: string }[]; next: string }>('/v1/senders?limit=1');
  assert.deepEqual([page.items.map(({ id }) => id), page.next], [['one'], 'one']);
  const rest = await read<{ items: { id: string }[]; next: null }>('/v1/senders?limit=1&cursor=one');
  assert.deepEqual([rest.items.map(({ id }) => id), rest.next], [['two'], null]);
  const pushServices = Array.from({ length: 51 }, (_, index) => ({
    ...reported,
    origin: `https://${index + 10}.push.example`,
  }));
  await store.senders.put({ ...head, id: 'one', kind: 'worker', pushServices });
  await store.senders.remove('two');
  const listed = await read<{ items: object[]; next: string }>('/v1/push-services');
  assert.deepEqual([listed.items.length, listed.next], [50, 'https://59.push.example']);
  await store.senders.remove('one');
  assert.deepEqual(await read('/v1/push-services'), { items: [], next: null });

  const answers = [
    { origin, vapidPublicKey: 'refused', accepted: 0, hasRefused: true, refusalsInRow: 20 },
    { origin, vapidPublicKey: 'not always', accepted: 1, hasRefused: true, refusalsInRow: 5 },
  ];
  await store.broadcasts.create(madeUpBroadcast(store.now()));
  await store.ledger.commit({ broadcastId: 1, fenceToken: '', rows: [], answers, leaseMs: 1000 });
  const refusing = await read<{ items: { refusedKeys: string[]; senders: number }[] }>('/v1/push-services');
  assert.deepEqual(
    refusing.items.map(({ refusedKeys, senders }) => [refusedKeys, senders]),
    [[['refused'], 0]],
    'also where nobody sends to it',
  );
  const accepting = [{ origin, vapidPublicKey: 'refused', accepted: 1, hasRefused: false, refusalsInRow: 0 }];
  await store.ledger.commit({ broadcastId: 1, fenceToken: '', rows: [], answers: accepting, leaseMs: 1000 });
  assert.deepEqual(await read('/v1/push-services'), { items: [], next: null });
});

test('a transport knows its connections, answers and 429s, and the report is taken back at the end', async (t) => {
  const { store, pushService, sender } = await startStage(t, [{}]);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [subscription] = await store.subscriptions.page({ afterId: 0, limit: 1 });
  const message = { title: 'Ding dong', message: 'Tea is ready' };
  await sender.send(subscription!, message);
  pushService.faults.inject({ kind: 'status', status: 429, retryAfter: 1, times: 1 });
  await sender.send(subscription!, message);
  t.mock.timers.tick(2000);
  await untilReported(store);
  const [report] = await store.senders.list();
  assert.deepEqual([report?.kind, report?.processId], ['single', process.pid]);
  const [known] = report!.pushServices;
  assert.deepEqual(
    [known?.origin, known?.connections, known?.inFlight, known?.answers, known?.throttled, known?.breaker],
    [pushService.origin, 1, 0, 2, 1, 'closed'],
  );
  assert(known!.latencyMs! > 0);
  await sender.close();
  assert.deepEqual(await store.senders.list(), []);
});

test('a report that is on its way when its sender ends is taken back too', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const answered = Promise.withResolvers<void>();
  const calls: string[] = [];
  const senders = {
    put: async () => {
      await answered.promise;
      calls.push('stored');
    },
    remove: async () => void calls.push('removed'),
  } as unknown as SenderReports;
  const end = startSenderReport(senders, { snapshot: () => [] }, 'worker', { differenceMs: undefined });
  t.mock.timers.tick(2000);
  const ended = end();
  answered.resolve();
  await ended;
  assert.deepEqual(calls, ['stored', 'removed']);
});

test('a sender of single messages says nothing until it has sent, and then repeats itself only now and then', async (t) => {
  const { store } = await startOperator(t);
  const transport = createTransport();
  t.mock.timers.enable({ apis: ['setInterval'] });
  const noClock = { differenceMs: undefined };
  const end = startSenderReport(store.senders, transport, 'single', noClock);
  const endWorker = startSenderReport(store.senders, { snapshot: () => [] }, 'worker', noClock);
  t.mock.timers.tick(2000);
  await untilReported(store);
  assert.deepEqual(
    (await store.senders.list()).map(({ kind }) => kind),
    ['worker'],
  );
  await end();
  await endWorker();
  assert.deepEqual(await store.senders.list(), []);
  await transport.close();
});
