// A store whose sending is paused: nothing is sent by itself, what is asked for is, and resuming says and does what it starts.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { acknowledgeAlarm, readAlarms } from '../../src/delivery/alarms/read-alarms.ts';
import { createWarningReader } from '../../src/delivery/alarms/installation-warnings.ts';
import { describeResumption, resumeSending } from '../../src/delivery/schedule/resume-sending.ts';
import { startDueBroadcasts } from '../../src/delivery/schedule/run-schedules.ts';
import { createSchedule } from '../../src/delivery/schedule/create-schedule.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { addSubscriptions, madeUpBroadcast } from '../store/store-under-test.ts';
import { openTestStore } from '../store/test-database.ts';
import { assertDone, message, openBroadcastBench, timesReceived } from './broadcast-bench.ts';

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
  const stop = new AbortController();
  const working = sender.work(stop.signal);
  const isOver = async (id: number) => (await store.broadcasts.find(id))?.state === 'done';
  const { broadcast: asked } = await sender.createBroadcast('all', message);
  while (!(await isOver(asked.id))) await sleep(10);
  const [subscription] = await store.subscriptions.page({ afterId: 0, limit: 1 });
  assert.equal((await sender.send(subscription!, message)).outcome.kind, 'accepted');
  assert.deepEqual(timesReceived(pushService), { 1: 4, 2: 1 });
  assert.deepEqual((await describeResumption(store)).broadcastIds, [before.id]);
  assert.deepEqual(await resumeSending(store, { withMissed: false, withBroadcasts: true }), [before.id]);
  while (!(await isOver(before.id))) await sleep(10);
  stop.abort();
  await working;
  assertDone((await store.broadcasts.find(before.id))!, { accepted: 5 });
  assert.deepEqual(timesReceived(pushService), { 2: 4, 3: 1 });
});

test('a pause, and a clock that push services contradict, are warnings of the installation', async (t) => {
  await using stage = await setUp();
  const { store } = stage;
  assert.deepEqual(await createWarningReader(store)(), []);
  for (let count = 0; count < 2; count += 1) await store.broadcasts.create(madeUpBroadcast(store.now()));
  await store.sending.pause('restored');
  const report = {
    id: 'a',
    machine: 'm',
    processId: 1,
    kind: 'worker',
    startedAtMs: 1,
    pushServices: [],
  } as const;
  // that of another machine is tolerated
  const threeMinutesMs = 180_000;
  await store.senders.put({ ...report, id: 'b', startedAtMs: 0, clockDifferenceMs: threeMinutesMs });
  await store.senders.put({ ...report, clockDifferenceMs: -threeMinutesMs - 1 });
  const warnings = await createWarningReader(store)();
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['sending-paused', 'clock-wrong'],
  );
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
  assert.deepEqual(
    standing.map(({ kind, link, sinceMs, count, unit }) => [kind, link, sinceMs, count, unit]),
    [
      ['keys-missing', '/console/keys', undefined, 1, 'installation'],
      ['clock-wrong', '/console/push-services', undefined, 1, 'installation'],
      [id, '/console/broadcasts', store.now(), 2, 'broadcast'],
    ],
  );

  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const read = createWarningReader(store);
  assert.equal((await read()).length, 2);
  await store.sending.resume({ withBroadcasts: false });
  nowMs += 5000;
  assert.deepEqual(
    (await read()).map(({ code }) => code),
    ['clock-wrong'],
  );
});
