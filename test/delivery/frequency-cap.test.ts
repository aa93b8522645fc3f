// `perPerson`: how a cap is written, and that who has been reached often enough gets nothing and is counted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parsePerPerson } from '../../src/audience/frequency-cap.ts';
import { assertDone, message, openBroadcastBench, timesReceived } from './broadcast-bench.ts';

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
    await using bench = await openBroadcastBench();
    const pushService = await bench.startPushService({ rows: 20 });
    for (const id of [1, 2, 3]) await bench.store.people.assign(id, { user: 'ada' });
    const sender = bench.createSender();
    const send = async (perPerson?: string) =>
      (await sender.broadcast('all', message, { perPerson })).finished;

    assertDone(await send('1/day'), { accepted: 20 });
    await bench.subscribe(pushService, 5);
    assertDone(await send('1/day'), { accepted: 5, capped: 20 });
    assertDone(await send(), { accepted: 25 });
    assert.deepEqual(timesReceived(pushService), { 2: 25 });
    const [origin] = (await bench.store.broadcasts.find(2))?.origins ?? [];
    assert.deepEqual([origin?.attempts, origin?.capped], [5, 20]);
  });

  test('is refused where it cannot be read, and is part of what an idempotency key stands for', async () => {
    await using bench = await openBroadcastBench();
    const sender = bench.createSender();
    const wrong = sender.createBroadcast('all', message, { perPerson: 'often' });
    await assert.rejects(wrong, { code: 'ERR_MESSAGE_INVALID' });
    await assert.rejects(sender.createSchedule('all', message, { cron: '0 9 * * 1', perPerson: '3' }), {
      code: 'ERR_MESSAGE_INVALID',
    });
    const make = (perPerson?: string) =>
      sender.createBroadcast('all', message, { perPerson, idempotencyKey: 'tea' });
    const { broadcast } = await make('3/day');
    assert.equal(broadcast.perPerson, '3/day');
    assert.equal((await make('3/day')).isNew, false);
    await assert.rejects(make('4/day'), { code: 'ERR_IDEMPOTENCY_KEY' });
  });
});
