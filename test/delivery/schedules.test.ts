// Schedules by a given clock: each occurrence becomes one broadcast, whoever looks; late and missed ones.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  createSchedule,
  type RecurringAudience,
  resumeSchedule,
  type ScheduleOptions,
  withTimes,
} from '../../src/delivery/schedule/create-schedule.ts';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import { startDueBroadcasts } from '../../src/delivery/schedule/run-schedules.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { addSubscriptions } from '../store/store-under-test.ts';
import { openTestStore } from '../store/test-database.ts';

const policy = createEndpointPolicy();
const message = { title: 'Hello', message: 'World' };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

async function setUp(
  t: TestContext,
  options: Partial<ScheduleOptions> = {},
  audience: RecurringAudience = 'all',
) {
  let nowMs = Date.parse('2027-03-25T12:00:00Z');
  const { store, run, remove } = await openTestStore(() => nowMs);
  t.after(remove);
  await addSubscriptions(store, 3);
  const times = { cron: '0 9 * * *', timezone: 'Europe/Berlin', ...options };
  const schedule = await createSchedule(store, audience, message, times);
  const warnings: string[] = [];
  return {
    store,
    run,
    schedule,
    warnings,
    /** Looks for occurrences at this time. */
    lookAt: async (time: string | number, onFault?: (fault: unknown) => void) => {
      nowMs = typeof time === 'string' ? Date.parse(time) : time;
      await startDueBroadcasts({ store, policy, onWarning: (warning) => warnings.push(warning), onFault });
    },
    /** By their keys, oldest first. */
    made: async () => {
      const broadcasts = await store.broadcasts.list({ limit: 100 });
      return broadcasts.map(({ idempotencyKey }) => idempotencyKey?.slice('schedule/'.length)).toReversed();
    },
    next: async () => new Date((await store.schedules.list())[0]?.nextAtMs ?? 0).toISOString(),
  };
}

test('an occurrence is one broadcast with a key of its own, over the change to summer time', async (t) => {
  const { store, schedule, lookAt, made, next } = await setUp(t, { ttlSeconds: 60, urgency: 'high' });
  await lookAt('2027-03-26T07:59:59.999Z');
  assert.deepEqual(await made(), []);
  await lookAt('2027-03-26T08:00:00.000Z');
  await lookAt('2027-03-26T08:00:01.000Z');
  assert.deepEqual(await made(), ['1/2027-03-26T08:00:00.000Z']);
  const broadcast = await store.broadcasts.find(1);
  assert.equal(broadcast?.recipients, 3);
  assert.deepEqual(broadcast.createdBy, { schedule: schedule.id });
  assert.equal(broadcast.startAtMs, Date.parse('2027-03-26T08:00:00Z'));
  assert.deepEqual([broadcast.ttlSeconds, broadcast.urgency], [60, 'high']);
  await lookAt('2027-03-27T08:00:00Z');
  await lookAt('2027-03-28T07:00:00Z');
  assert.deepEqual((await made()).slice(1), ['1/2027-03-27T08:00:00.000Z', '1/2027-03-28T07:00:00.000Z']);
  assert.equal(await next(), '2027-03-29T07:00:00.000Z');
  assert.equal((await store.schedules.list())[0]?.lastBroadcastId, 3);
  assert.equal(await store.schedules.remove(schedule.id), true);
  await lookAt('2027-03-29T07:00:00Z');
  assert.equal((await made()).length, 3);
});

for (const [audience, other] of [
  [{ user: 'ada' }, { user: 'eve', tags: ['news'] }],
  [{ tags: { all: ['news'] } }, { user: 'ada' }],
  [{ user: 'ada', tags: { all: ['news'] } }, { user: 'ada' }],
] as const) {
  test(`an audience by ${Object.keys(audience).join()} is looked at anew for each occurrence`, async (t) => {
    const { store, lookAt } = await setUp(t, {}, audience);
    const subscribe = (id: number) => store.people.assign(id, { user: 'ada', tags: ['news'] });
    const sendAt = async (time: string) => {
      await lookAt(time);
      const { id } = (await store.broadcasts.list({ limit: 1 }))[0]!;
      while (await store.broadcasts.prepare(id, 'test'));
      const { recipients, payload } = await store.broadcasts.get(id);
      assert.deepEqual(JSON.parse(Buffer.from(payload).toString()), message);
      return recipients;
    };
    await store.people.assign(1, other);
    await subscribe(2);
    assert.equal(await sendAt('2027-03-26T08:00:00Z'), 1);
    await subscribe(3);
    assert.equal(await sendAt('2027-03-27T08:00:00Z'), 2);
  });
}

test('a process that ended between the broadcast and the next time leaves no second broadcast', async (t) => {
  const { store, lookAt, made, next } = await setUp(t);
  const dueMs = Date.parse('2027-03-26T08:00:00Z');
  await createBroadcast(store, policy, 'all', message, {}, { scheduleId: 1, atMs: dueMs });
  await lookAt(dueMs);
  assert.deepEqual(await made(), ['1/2027-03-26T08:00:00.000Z']);
  assert.equal(await next(), '2027-03-27T08:00:00.000Z');
});

test('an occurrence is made up to an hour late; of several the newest', async (t) => {
  const { store, lookAt, made, warnings } = await setUp(t, { cron: '*/20 9 * * *' });
  await lookAt('2027-03-26T09:00:00Z');
  assert.deepEqual(await made(), ['1/2027-03-26T08:40:00.000Z']);
  assert.equal((await store.broadcasts.find(1))?.startAtMs, Date.parse('2027-03-26T09:00:00Z'));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /Schedule 1 was not sent at 2027-03-26T08:00:00.000Z/);
  await lookAt('2027-03-27T08:40:00Z');
  assert.deepEqual((await made()).slice(1), ['1/2027-03-27T08:40:00.000Z'], 'the newest may be that of now');
});

test('an occurrence that is later than an hour is left out, with a warning', async (t) => {
  const { lookAt, made, next, warnings } = await setUp(t);
  await lookAt(Date.parse('2027-03-26T08:00:00Z') + hourMs + 1);
  assert.deepEqual(await made(), []);
  assert.equal(await next(), '2027-03-27T08:00:00.000Z');
  assert.equal(warnings.length, 1);
  // a month in which nothing ran
  await lookAt('2027-04-26T07:30:00Z');
  assert.deepEqual(await made(), ['1/2027-04-26T07:00:00.000Z']);
  await lookAt(Date.parse('2027-04-27T07:00:00Z') + hourMs);
  assert.equal((await made())[1], '1/2027-04-27T07:00:00.000Z', 'an hour is not too late');
  assert.equal(warnings.length, 2);
});

test('a schedule that fails is reported, and does not keep others waiting', async (t) => {
  const faults: unknown[] = [];
  const { store, run, lookAt, made } = await setUp(t);
  await createSchedule(store, 'all', message, { cron: '0 9 * * *', timezone: 'Europe/Berlin' });
  await run("update schedules set cron = 'never' where id = 1");
  await lookAt('2027-03-26T08:00:00Z', (fault) => faults.push(fault));
  assert.deepEqual(await made(), ['2/2027-03-26T08:00:00.000Z']);
  assert.match(faults.join(), /never/);
});

test('times that pass while a schedule is paused are not made up for', async (t) => {
  const { store, schedule, lookAt, made, warnings } = await setUp(t);
  const times = async () => {
    const { nextTimes } = await withTimes(await store.schedules.get(schedule.id));
    return nextTimes.map((timeMs) => new Date(timeMs).toISOString());
  };
  // over the change to summer time
  const beforePause = ['2027-03-26T08:00:00.000Z', '2027-03-27T08:00:00.000Z', '2027-03-28T07:00:00.000Z'];
  assert.deepEqual(await times(), beforePause);
  await store.schedules.pause(schedule.id);
  assert.deepEqual(await times(), []);
  await lookAt('2027-03-26T08:00:00Z');
  await lookAt('2027-03-27T08:30:00Z');
  assert.deepEqual(await made(), []);
  await resumeSchedule(store, schedule.id);
  await lookAt('2027-03-27T08:31:00Z');
  assert.deepEqual(await made(), [], 'half an hour ago is not sent now');
  assert.equal((await times())[0], '2027-03-28T07:00:00.000Z');
  await lookAt('2027-03-28T07:00:00Z');
  assert.deepEqual(await made(), ['1/2027-03-28T07:00:00.000Z']);
  assert.deepEqual(warnings, []);
});

test('a broadcast that is made while its schedule is removed is cancelled', async (t) => {
  const { store, schedule } = await setUp(t);
  const dueMs = Date.parse('2027-03-26T08:00:00Z');
  const schedules = { ...store.schedules };
  schedules.takeDue = async () => {
    if (!(await store.schedules.remove(schedule.id))) return undefined;
    return { ...schedule, nowMs: dueMs };
  };
  await startDueBroadcasts({ store: { ...store, schedules }, policy });
  assert.equal((await store.broadcasts.find(1))?.state, 'cancelled');
});

test('what cannot be sent, has no time to come or takes a schedule’s key is refused at once', async (t) => {
  const { store } = await setUp(t);
  const add = (changes: object, options: Partial<ScheduleOptions> = {}) =>
    createSchedule(store, 'all', { ...message, ...changes }, { cron: '0 9 * * *', ...options });
  await assert.rejects(add({ title: '' }, { cron: '0 0 30 2 *' }), { code: 'ERR_SCHEDULE_INVALID' });
  await assert.rejects(add({ message: 'x'.repeat(4000) }), { code: 'ERR_PAYLOAD_TOO_LARGE' });
  await assert.rejects(add({ message: 'x'.repeat(3950) }, { receipts: true }), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
  });
  assert.deepEqual([(await add({}, { receipts: true })).receipts, (await add({})).receipts], [true, false]);
  assert.equal((await add({})).timezone, 'UTC', 'where none is given');
  await assert.rejects(add({}, { ttlSeconds: -1 }), { code: 'ERR_MESSAGE_INVALID' });
  const toIds = createSchedule(store, { ids: [1] } as never, message, { cron: '0 9 * * *' });
  await assert.rejects(toIds, { code: 'ERR_FIELD_VALUE', message: /needs a user or a tag/ });
  const idempotencyKey = 'schedule/1/2027-03-26T08:00:00.000Z';
  await assert.rejects(createBroadcast(store, policy, 'all', message, { idempotencyKey }), {
    code: 'ERR_MESSAGE_INVALID',
    message: /as those of schedules do/,
  });
});
