// What is reported of senders: push services that they cannot reach, and processes that come, go and are lost.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { shareAlarms, unreachableAlarms } from '../../src/delivery/alarms/push-service-conditions.ts';
import {
  findUnreachable,
  formatReachability,
  type ReachabilityEvent,
  watchPushServices,
  watchWorkers,
  type WorkerEvent,
} from '../../src/delivery/broadcast/watch.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import type { ReportedPushService, SenderReports, StoredSenderReport } from '../../src/store/sending.ts';
import { message, openStageWithRecorder } from './fault-stage.ts';
import { openTestStore } from '../store/test-database.ts';
import { idlePushService, workerReport } from '../store/made-up-subscription.ts';
import { pluck } from '../../tools/pluck.ts';

const { origin } = idlePushService;
const service: ReportedPushService = {
  ...idlePushService,
  breaker: 'open',
  breakerReason: 'push.example.net:443 cannot be reached (ECONNREFUSED).',
};
const failed = (error: unknown): void => assert.ifError(error);
const reportOf = (id: string, machine: string, unreachableMs?: number): StoredSenderReport => ({
  id,
  machine,
  processId: 1,
  kind: id === '1' ? 'single' : 'worker',
  startedAtMs: 0,
  seenAtMs: 100_000,
  pushServices: [{ ...service, unreachableMs }],
});

describe('a push service that cannot be reached', () => {
  test('is known from the reports of all senders, with the longest time and their machines', () => {
    const reports = [
      reportOf('1', 'push-1', 20_000),
      reportOf('2', 'push-2'),
      reportOf('3', 'push-3', 30_000),
      reportOf('4', 'push-3', 16_000),
    ];
    const [found, ...others] = findUnreachable(reports);
    assert.deepEqual(others, []);
    assert.deepEqual(found, {
      origin,
      sinceMs: 70_000,
      reason: service.breakerReason,
      machines: ['push-1', 'push-3'],
    });
    const [alarm] = unreachableAlarms(reports);
    assert.deepEqual([alarm?.count, alarm?.unit, alarm?.sinceMs], [2, 'machine', 70_000]);
    assert.equal(
      formatReachability({ state: 'unreachable', ...found! }),
      'push.example.net cannot be reached from push-1, push-3. Its messages wait and are tried again. ' +
        'push.example.net:443 cannot be reached (ECONNREFUSED).',
    );
  });

  test('is in one alarm with all others that nobody has listed', () => {
    const strangers = Array.from({ length: 87 }, (_, index) => `https://n${index}.example.org`);
    const [report] = [reportOf('1', 'push-1', 20_000)];
    const pushServices = [origin, ...strangers].map((each) => ({
      ...report!.pushServices[0]!,
      origin: each,
    }));
    const found = unreachableAlarms([{ ...report!, pushServices }]);
    const alarms = shareAlarms(found, new Set(strangers.map((each) => new URL(each).host)));
    assert.deepEqual(pluck(alarms, 'pushService', 'what'), [
      ['push.example.net', 'push.example.net cannot be reached'],
      ['', 'Each of 87 push services that nobody has listed cannot be reached'],
    ]);
    assert.match(alarms[1]!.detail ?? '', /^n0\.example\.org, n1\.example\.org, n10\.example\.org, …$/);
  });

  test('is told of once when it begins and once when it ends', async () => {
    const looks = [
      [],
      [reportOf('1', 'push-1', 20_000)],
      [reportOf('1', 'push-1', 22_000)],
      [reportOf('1', 'push-1')],
    ];
    const stop = new AbortController();
    const events: string[] = [];
    const list = async () => {
      const look = looks.shift();
      if (look === undefined) stop.abort();
      return look ?? [];
    };

    for await (const { state } of watchPushServices({ list }, stop.signal, failed, 1)) events.push(state);
    assert.deepEqual(events, ['unreachable', 'reachable']);
  });

  for (const [how, stopService] of [
    ['refuses connections', 'close'],
    ['says nothing', 'goSilent'],
  ] as const) {
    test(`since its port ${how} raises an alarm within a minute, which ends when it answers`, async (t) => {
      const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2', 5);
      await recorder.port[stopService]();
      const sender = stage.sender({ retryPolicy: defaultRetryPolicy, connectTimeoutMs: 10_000 });
      const run = await sender.broadcast('all', message);
      const stop = new AbortController();
      const events: ReachabilityEvent['state'][] = [];

      const watching = (async () => {
        for await (const { state } of watchPushServices(stage.store.senders, stop.signal, failed, 20))
          events.push(state);
      })();
      const startMs = stage.clock.now();
      while (events.length === 0) {
        // reports of senders are made by the real clock
        if (stage.clock.now() - startMs < 58_000) stage.clock.advance(1000);
        await sleep(20);
      }
      assert.deepEqual(events, ['unreachable']);
      if (stopService === 'close') await recorder.port.open();
      else recorder.port.forwardTo(recorder.service.port);
      await stage.finish(run);
      stop.abort();
      await watching;
      assert.equal(recorder.accepted, 5);
      assert.deepEqual(findUnreachable(await stage.store.senders.list()), []);
    });
  }
});

// Which processes are reported to deliver: each once when it comes and once when it goes.

const worker = { ...workerReport, startedAtMs: 5 };
const everyMs = 5;

async function openStore(t: TestContext) {
  let nowMs = Date.UTC(2027, 0, 1);
  const { store, run, remove } = await openTestStore(() => nowMs);
  t.after(remove);
  return { senders: store.senders, run, pass: (ms: number) => (nowMs += ms) };
}

/** Reads events, and does after each one what is to be done; ends after the last. */
async function watch(
  senders: Pick<SenderReports, 'list'>,
  steps: readonly ((event: WorkerEvent) => unknown)[],
): Promise<readonly string[]> {
  const events: string[] = [];
  const stop = new AbortController();
  for await (const event of watchWorkers(senders, stop.signal, failed, everyMs)) {
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
      // its report before was found unchanged, too
      if (looks <= 10) return [{ ...worker, seenAtMs: 4 }];
      return looks > 10 + looksAtReport ? [] : [{ ...worker, seenAtMs: 5 }];
    };
    const events = await watch({ list }, [() => {}, () => {}]);
    assert.deepEqual(events, ['push-1 7 started 5', `push-1 7 ${state} 5`]);
  }
});

test('a store that cannot be read is reported once, and watching goes on when it can be read again', async (t) => {
  const { senders, run } = await openStore(t);
  await senders.put(worker);
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
      if (failures === 3) await run('alter table hidden rename to senders');
      throw error;
    }
  };
  const events: string[] = [];
  for await (const { state } of watchWorkers({ list }, stop.signal, onError, everyMs)) {
    events.push(state);
    if (state === 'stopped') stop.abort();
    else {
      await senders.remove(worker.id);
      await run('alter table senders rename to hidden');
    }
  }
  assert.deepEqual([errors, failures, events], [1, 3, ['started', 'stopped']]);
});
