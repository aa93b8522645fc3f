// A push service that cannot be reached at all: how soon senders know, what is said of it, and that it ends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { shareAlarms, unreachableAlarms } from '../../src/delivery/alarms/push-service-conditions.ts';
import {
  findUnreachable,
  formatReachability,
  watchPushServices,
  type ReachabilityEvent,
} from '../../src/delivery/broadcast/watch-push-services.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import type { ReportedPushService, StoredSenderReport } from '../../src/store/sending.ts';
import { message, openStageWithRecorder } from './fault-stage.ts';

const origin = 'https://push.example.net';
const service: ReportedPushService = {
  origin,
  connections: 0,
  inFlight: 0,
  queued: 0,
  maxInFlight: 100,
  answers: 0,
  throttled: 0,
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
    assert.deepEqual(
      alarms.map(({ pushService, what }) => [pushService, what]),
      [
        ['push.example.net', 'push.example.net cannot be reached'],
        ['', 'Each of 87 push services that nobody has listed cannot be reached'],
      ],
    );
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
