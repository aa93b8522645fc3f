// What every store must know of schedules.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { madeUpSchedule, openForEachTest } from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const firstAtMs = Date.UTC(2027, 0, 4, 8);
const weekMs = 7 * 24 * 3_600_000;
const leaseMs = 60_000;

describe(`schedules: ${databaseName()}`, () => {
  let nowMs = 0;
  const store = openForEachTest(() => nowMs);
  beforeEach(() => (nowMs = firstAtMs - 1000));

  test('a schedule is listed as it was stored until it is removed', async () => {
    const draft = madeUpSchedule({
      audience: { user: 'ada', tags: { any: ['news'] } },
      message: { title: 'Täglich', message: '“…”', url: '/now', actions: [{ title: 'Open' }] },
      ttlSeconds: 60,
      urgency: 'high',
      topic: 'day',
      receipts: true,
      perPerson: '3/day',
      skipInactive: 10,
      priority: 'high',
      channel: 'news',
      localTime: '09:00',
      ifTimePassed: 'skip',
      quietHours: '22:00-07:00',
      timeZone: 'Asia/Tokyo',
      createdBy: { operator: 'ada' },
    });
    const added = await store.schedules.add(draft);
    assert.deepEqual(added, {
      ...draft,
      id: added.id,
      createdAtMs: nowMs,
      lastBroadcastId: undefined,
      pausedAtMs: undefined,
    });
    const second = await store.schedules.add(madeUpSchedule());
    assert.deepEqual(await store.schedules.list(), [added, second]);
    assert.deepEqual(await store.schedules.list({ limit: 1 }), [added]);
    assert.deepEqual(await store.schedules.list({ afterId: added.id, limit: 1 }), [second]);
    assert.equal(await store.schedules.remove(second.id), true);
    assert.equal(await store.schedules.remove(second.id), false);
    assert.deepEqual(await store.schedules.list(), [added]);
    const third = await store.schedules.add(madeUpSchedule());
    assert.ok(third.id > second.id, 'an id is never used again');
  });

  test('what is due is given to one at a time, and to another when the lease is over', async () => {
    const later = await store.schedules.add(madeUpSchedule({ nextAtMs: firstAtMs + 10 }));
    const first = await store.schedules.add(madeUpSchedule());
    assert.equal(await store.schedules.takeDue(leaseMs), undefined);
    nowMs = firstAtMs;
    assert.deepEqual(await store.schedules.takeDue(leaseMs), { ...first, nowMs });
    assert.equal(await store.schedules.takeDue(leaseMs), undefined);
    nowMs += leaseMs;
    const taken = await Promise.all([1, 2, 3].map(() => store.schedules.takeDue(leaseMs)));
    assert.deepEqual(
      new Set(taken.map((schedule) => schedule?.id)),
      new Set([first.id, later.id, undefined]),
    );
  });

  test('what was leased by a clock that was ahead is free when that is set back', async () => {
    const { id } = await store.schedules.add(madeUpSchedule());
    nowMs = firstAtMs + 3_600_000;
    await store.schedules.takeDue(leaseMs);
    nowMs = firstAtMs;
    assert.equal((await store.schedules.takeDue(leaseMs))?.id, id);
    assert.equal(await store.schedules.takeDue(leaseMs), undefined);
  });

  test('a schedule that is paused is not due, and goes on with the time that it is resumed for', async () => {
    const { schedules } = store;
    const added = await schedules.add(madeUpSchedule());
    const pausedAtMs = nowMs;
    assert.deepEqual(await schedules.pause(added.id), { ...added, pausedAtMs });
    nowMs = firstAtMs;
    assert.equal(await schedules.takeDue(leaseMs), undefined);
    assert.equal((await schedules.pause(added.id)).pausedAtMs, pausedAtMs, 'it was paused already');
    const nextAtMs = firstAtMs + weekMs;
    const resumed = { ...added, nextAtMs };
    assert.deepEqual(await schedules.resume(added.id, nextAtMs), resumed);
    assert.deepEqual(await schedules.resume(added.id, 0), resumed, 'it was not paused');
    assert.equal(await schedules.takeDue(leaseMs), undefined);
    nowMs = nextAtMs;
    assert.deepEqual(await schedules.takeDue(leaseMs), { ...resumed, nowMs });
    await schedules.remove(added.id);
    const notFound = { code: 'ERR_SCHEDULE_NOT_FOUND' };
    await assert.rejects(schedules.get(added.id), notFound);
    await assert.rejects(schedules.pause(added.id), notFound);
    await assert.rejects(schedules.resume(added.id, 0), notFound);
  });

  test('the next time is set once, whoever was faster', async () => {
    const { id } = await store.schedules.add(madeUpSchedule());
    nowMs = firstAtMs;
    await store.schedules.takeDue(leaseMs);
    const change = { fromMs: firstAtMs, toMs: firstAtMs + weekMs, broadcastId: 7 };
    assert.equal(await store.schedules.advance(id, change), true);
    const [schedule] = await store.schedules.list();
    assert.deepEqual([schedule?.nextAtMs, schedule?.lastBroadcastId], [firstAtMs + weekMs, 7]);
    await store.schedules.advance(id, { ...change, toMs: 0, broadcastId: 8 });
    assert.deepEqual(await store.schedules.list(), [schedule]);
    // the lease ended with the occurrence, and no broadcast leaves the last one as it is
    nowMs = firstAtMs + weekMs;
    assert.equal((await store.schedules.takeDue(leaseMs))?.id, id);
    await store.schedules.advance(id, { fromMs: nowMs, toMs: nowMs + weekMs });
    assert.equal((await store.schedules.list())[0]?.lastBroadcastId, 7);
    await store.schedules.remove(id);
    assert.equal(await store.schedules.advance(id, change), false);
  });
});
