// What is not sent: a message whose time is over, one that a cap per person holds off, and all while sending is paused.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parsePerPerson } from '../../src/audience/frequency-cap.ts';
import { createWarningReader } from '../../src/delivery/alarms/installation-warnings.ts';
import { acknowledgeAlarm, readAlarms } from '../../src/delivery/alarms/read-alarms.ts';
import { createSchedule } from '../../src/delivery/schedule/create-schedule.ts';
import { describeResumption, resumeSending } from '../../src/delivery/schedule/resume-sending.ts';
import { startDueBroadcasts } from '../../src/delivery/schedule/run-schedules.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { until } from '../../tools/until.ts';
import { addSubscriptions, madeUpBroadcast, openIds } from '../store/store-under-test.ts';
import { openTestStore } from '../store/test-database.ts';
import {
  assertDone,
  message,
  openBroadcastBench,
  startWork,
  timesReceived,
  untilDone,
} from './broadcast-bench.ts';
import { workerReport } from '../store/made-up-subscription.ts';
import { pluck } from '../../tools/pluck.ts';

describe('a broadcast whose time is over', () => {
  for (const [name, isToAll] of [
    ['all', true],
    ['some', false],
  ] as const) {
    test(`to ${name} sends nothing more, and tells expired rows from those that were removed`, async () => {
      await using bench = await openBroadcastBench({ rows: 50 });
      const { store } = bench;
      const ids = Array.from({ length: 50 }, (_, index) => index + 1);
      const draft = madeUpBroadcast(Date.now() - 2 * 3_600_000, {
        audienceId: isToAll ? undefined : await openIds(store, ids),
      });
      const { broadcast } = await store.broadcasts.create(draft);
      for (const id of [1, 20, 21, 50]) await store.subscriptions.removeById(id);
      const run = await bench.createSender().resume(broadcast.id);
      const done = await run.finished;
      assertDone(done, { expired: 46, removed: 4 });
      const raised = done.alarms.map(({ origin, reason, rows }) => [origin, reason, rows]);
      assert.deepEqual(raised, [['', 'expired-unsent', 46]]);
      const { standing } = await readAlarms(store, async () => []);
      const alarm = standing.find(({ kind }) => kind === 'expired-unsent');
      assert.deepEqual([alarm?.count, alarm?.broadcastIds, alarm?.pushService], [46, [broadcast.id], '']);
      assert.match(
        `${alarm?.what} ${alarm?.remedy}`,
        /^Messages expired before any of their broadcast was sent\. .*clock/,
      );
      assert.equal(done.origins[0]?.expired, 46);
      assert.deepEqual(timesReceived(bench.pushService), { 0: 50 });
    });
  }

  test('sends nothing again where the time of a message is over before it can be tried again', async () => {
    // by the store's clock alone, which is another one than this machine's
    const clock = { aheadMs: -3_600_000 };
    await using bench = await openBroadcastBench({ now: () => Date.now() + clock.aheadMs, rows: 2 });
    bench.pushService.faults.inject({ kind: 'status', status: 503 });
    const sender = bench.createSender({ retryPolicy: defaultRetryPolicy });
    const { broadcast } = await sender.broadcast('all', message, { ttlSeconds: 60 });
    assert.ok(broadcast.startAtMs <= bench.store.now(), 'it begins at once');
    const waiting = async () => (await bench.store.broadcasts.get(broadcast.id)).waiting === 2;
    await until(waiting, 'two that are tried again');
    await sender.close();
    bench.pushService.faults.clear();
    clock.aheadMs += 61_000;
    const run = await bench.createSender().resume(broadcast.id);
    const done = await run.finished;
    assertDone(done, { expired: 2 });
    assert.deepEqual(done.alarms, [], 'it was tried');
    assert.deepEqual(timesReceived(bench.pushService), { 0: 2 });
  });
});

// `perPerson`: how a cap is written, and that who has been reached often enough gets nothing and is counted.

describe('a cap per person', () => {
  test('names a number per hour, day or week', () => {
    const hourMs = 3_600_000;
    assert.deepEqual(parsePerPerson('1/hour'), { maxContacts: 1, windowMs: hourMs });
    assert.deepEqual(parsePerPerson('3/day'), { maxContacts: 3, windowMs: 24 * hourMs });
    assert.deepEqual(parsePerPerson('9999/week'), { maxContacts: 9999, windowMs: 7 * 24 * hourMs });
    for (const wrong of [
      '',
      '3',
      '3/',
      '0/day',
      '-1/day',
      '1.5/day',
      '3/month',
      '3/days',
      '10000/day',
      ' 3/day',
    ]) {
      assert.throws(() => parsePerPerson(wrong), { code: 'ERR_MESSAGE_INVALID', message: /3\/day/ }, wrong);
    }
  });

  test('holds for the devices of a person and each subscription without a user, and leaves the others alone', async () => {
    await using bench = await openBroadcastBench({ rows: 20 });
    for (const id of [1, 2, 3]) await bench.store.people.assign(id, { user: 'ada' });
    const sender = bench.createSender();
    const send = async (perPerson?: string) =>
      (await sender.broadcast('all', message, { perPerson })).finished;

    assertDone(await send('1/day'), { accepted: 20 });
    await bench.subscribe(bench.pushService, 5);
    assertDone(await send('1/day'), { accepted: 5, capped: 20 });
    assertDone(await send(), { accepted: 25 });
    assert.deepEqual(timesReceived(bench.pushService), { 2: 25 });
    const [origin] = (await bench.store.broadcasts.find(2))?.origins ?? [];
    assert.deepEqual([origin?.attempts, origin?.capped], [5, 20]);
  });
});

// A store whose sending is paused: nothing is sent by itself, what is asked for is, and resuming says and does what it starts.

const policy = createEndpointPolicy();

async function setUp() {
  let nowMs = Date.parse('2027-03-25T12:00:00Z');
  const { store, remove } = await openTestStore(() => nowMs);
  await addSubscriptions(store, 3);
  const schedule = await createSchedule(store, 'all', message, { cron: '0 * * * *' });
  const rare = await createSchedule(store, 'all', message, { cron: '0 9 1 1 *' });
  const made = async () => (await store.broadcasts.list({ limit: 10 })).length;
  return {
    store,
    schedule,
    rare,
    /** Looks for occurrences at this time. @returns how many broadcasts there are then */
    lookAt: async (time: string): Promise<number> => {
      nowMs = Date.parse(time);
      await startDueBroadcasts({ store, policy });
      return made();
    },
    [Symbol.asyncDispose]: remove,
  };
}

test('what a schedule misses during the pause is left out, and the next time is kept', async () => {
  await using stage = await setUp();
  const { store, schedule, rare, lookAt } = stage;
  const daily = await createSchedule(store, 'all', message, { cron: '30 13 * * *' });
  await store.sending.pause('restored');
  assert.equal(await lookAt('2027-03-25T14:01:00Z'), 0);
  const { pause, broadcastIds, startsMs, webhookEvents, ...schedules } = await describeResumption(store);
  assert.equal(pause?.reason, 'restored');
  assert.deepEqual(schedules, { schedules: [schedule, rare, daily], missed: [schedule, daily] });
  assert.deepEqual([broadcastIds, startsMs.size, webhookEvents], [[], 0, 0]);
  await store.schedules.pause(schedule.id);
  const others = await describeResumption(store);
  assert.deepEqual(
    [others.schedules, others.missed],
    [[rare, daily], [daily]],
    'one that is paused itself is not started',
  );
  const { id, nextAtMs } = schedule;
  await store.schedules.resume(id, nextAtMs);
  await resumeSending(store, { withMissed: false, withBroadcasts: false });
  assert.equal(await lookAt('2027-03-25T14:02:00Z'), 0);
  const [next, other, tomorrow] = await store.schedules.list();
  assert.deepEqual(next, { ...schedule, nextAtMs: Date.parse('2027-03-25T15:00:00Z') });
  assert.deepEqual(other, rare);
  assert.deepEqual(tomorrow, { ...daily, nextAtMs: Date.parse('2027-03-26T13:30:00Z') });
  assert.equal(await lookAt('2027-03-25T15:00:00Z'), 1);
});

test('what it has missed is sent where that is asked for', async () => {
  await using stage = await setUp();
  const often = await createSchedule(stage.store, 'all', message, { cron: '*/20 * * * *' });
  await stage.store.sending.pause('restored');
  assert.equal(await stage.lookAt('2027-03-25T14:01:00Z'), 0);
  await resumeSending(stage.store, { withMissed: true, withBroadcasts: false });
  assert.equal(await stage.lookAt('2027-03-25T14:02:00Z'), 2, 'the newest of each schedule');
  const bySchedule = (await stage.store.broadcasts.list({ limit: 10 })).map(({ createdBy }) => createdBy);
  assert.deepEqual(new Set(bySchedule), new Set([{ schedule: stage.schedule.id }, { schedule: often.id }]));
});

test('workers send what is asked for during the pause and nothing else, until it ends', async () => {
  await using bench = await openBroadcastBench();
  const { store } = bench;
  const pushService = await bench.startPushService({ rows: 5 });
  const sender = bench.createSender();
  const { broadcast: before } = await sender.createBroadcast('all', message);
  const { broadcast: cancelled } = await sender.createBroadcast('all', message);
  await store.sending.pause('asked');
  await store.broadcasts.cancel(cancelled.id);
  const endWork = startWork(sender);
  const { broadcast: asked } = await sender.createBroadcast('all', message);
  await untilDone(store, asked.id);
  const [subscription] = await store.subscriptions.page({ afterId: 0, limit: 1 });
  assert.equal((await sender.send(subscription!, message)).outcome.kind, 'accepted');
  assert.deepEqual(timesReceived(pushService), { 1: 4, 2: 1 });
  assert.deepEqual((await describeResumption(store)).broadcastIds, [before.id]);
  assert.deepEqual(await resumeSending(store, { withMissed: false, withBroadcasts: true }), [before.id]);
  assertDone(await untilDone(store, before.id), { accepted: 5 });
  await endWork();
  assert.deepEqual(timesReceived(pushService), { 2: 4, 3: 1 });
});

test('a pause, and a clock that push services contradict, are warnings of the installation', async (t) => {
  await using stage = await setUp();
  const { store } = stage;
  assert.deepEqual(await createWarningReader(store)(), []);
  for (let count = 0; count < 2; count += 1) await store.broadcasts.create(madeUpBroadcast(store.now()));
  await store.sending.pause('restored');
  // that of another machine is tolerated
  const threeMinutesMs = 180_000;
  await store.senders.put({
    ...workerReport,
    id: 'other',
    startedAtMs: 0,
    clockDifferenceMs: threeMinutesMs,
  });
  await store.senders.put({ ...workerReport, clockDifferenceMs: -threeMinutesMs - 1 });
  const warnings = await createWarningReader(store)();
  assert.deepEqual(pluck(warnings, 'code'), ['sending-paused', 'clock-wrong']);
  assert.match(
    warnings[0]!.detail,
    /^Sending has been paused since 2027-03-25T12:00:00.000Z \(the store was restored/,
  );
  assert.match(warnings[1]!.detail, /^The clock is 3 minutes ahead of push services/);

  const keys = await mkdtemp(join(fastFolder(), 'deskbell-keys-'));
  t.after(() => rm(keys, { recursive: true }));
  await writeFile(join(keys, 'vapid-keys.json'), 'a diary', { mode: 0o600 });
  const [, unusable] = await createWarningReader(store, keys)();
  assert.equal(unusable?.code, 'keys-missing');
  assert.match(unusable.detail, /^The key file .*vapid-keys\.json cannot be used/);

  // each is an alarm that leads to where it is mended, and is behind the others once somebody knows of it
  const readKeys = createWarningReader(store, keys);
  const id = 'sending-paused';
  await acknowledgeAlarm(store, readKeys, { id, operator: 'ann', note: 'Until the copy is gone.' });
  const { standing } = await readAlarms(store, readKeys);
  assert.deepEqual(pluck(standing, 'kind', 'link', 'sinceMs', 'count', 'unit'), [
    ['keys-missing', '/console/keys', undefined, 1, 'installation'],
    ['clock-wrong', '/console/push-services', undefined, 1, 'installation'],
    [id, '/console/broadcasts', store.now(), 2, 'broadcast'],
  ]);

  // a process that looks at no key files does not end what somebody knows of this one
  const local = { id: 'keys-missing', operator: 'ann', note: 'I look for it.' };
  await acknowledgeAlarm(store, readKeys, local);
  const elsewhere = await readAlarms(store, createWarningReader(store));
  assert.ok(!elsewhere.standing.some((alarm) => alarm.id === local.id));
  const ofKeys = async (atMs: number) =>
    (await readAlarms({ ...store, now: () => atMs }, readKeys)).standing.find(
      (alarm) => alarm.id === local.id,
    );
  assert.equal((await ofKeys(store.now()))?.acknowledgement?.operator, 'ann');
  assert.equal((await ofKeys(store.now() + 3_600_000))?.acknowledgement, undefined, 'after an hour');

  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const read = createWarningReader(store);
  assert.equal((await read()).length, 2);
  await store.sending.resume({ withBroadcasts: false });
  nowMs += 5000;
  assert.deepEqual(pluck(await read(), 'code'), ['clock-wrong']);
});
