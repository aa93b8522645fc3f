// What every store must know of rate limits: what is left of each, and how long the queue of rows that were put off is.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openForEachTest } from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const limit = { origin: 'https://fcm.googleapis.com', perSecond: 100, wanted: 25, rateLimited: 0 };

describe(`rate limits: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

  test('give a quarter of a second at once, then what the time has earned', async () => {
    const permits: number[] = [];
    for (const passMs of [0, 0, 100, 5, 5, 3_600_000, 0]) {
      nowMs += passMs;
      permits.push((await store.rates.take(limit)).permits);
    }
    assert.deepEqual(permits, [25, 0, 10, 0, 1, 25, 0]);
  });

  test('are kept by all who ask together: no second has more than its rate and what was saved', async () => {
    let given = 0;
    for (let passed = 0; passed < 1000; passed += 10) {
      for (let worker = 0; worker < 8; worker += 1) given += (await store.rates.take(limit)).permits;
      nowMs += 10;
    }
    assert.ok(given <= 125 && given >= 120, String(given));
  });

  test('may be far below one message a second, and hold for each push service by itself', async () => {
    const slow = { origin: 'https://web.push.apple.com', perSecond: 1 / 60, wanted: 1, rateLimited: 0 };
    const permits: number[] = [];
    for (const passMs of [0, 0, 59_000, 1000]) {
      nowMs += passMs;
      permits.push((await store.rates.take(slow)).permits);
    }
    assert.deepEqual(permits, [1, 0, 0, 1]);
    assert.equal((await store.rates.take(limit)).permits, 25);
  });

  test('have a queue that grows with the rows that are put off, and is over when it was abandoned', async () => {
    await store.rates.take(limit);
    assert.equal((await store.rates.take({ ...limit, rateLimited: 300 })).queueMs, 3000);
    assert.equal((await store.rates.take({ ...limit, rateLimited: 100 })).queueMs, 4000);
    nowMs += 1000;
    assert.equal((await store.rates.take(limit)).queueMs, 3000);
    nowMs += 3000;
    assert.equal((await store.rates.take(limit)).queueMs, 0);
    await store.rates.take({ ...limit, rateLimited: 100_000 });
    nowMs += 6000;
    assert.equal((await store.rates.take(limit)).queueMs, 0, 'nothing was sent for so long');
  });

  test('go on when the clock is set back, though not for less than requests may be late', async () => {
    await store.rates.take({ ...limit, rateLimited: 500 });
    nowMs -= 1000;
    assert.deepEqual(await store.rates.take(limit), { permits: 0, queueMs: 6000 });
    const given: number[] = [];
    for (const passMs of [-3_600_000, 100, -86_400_000, 100]) {
      nowMs += passMs;
      given.push((await store.rates.take(limit)).permits);
    }
    assert.deepEqual(given, [0, 10, 0, 10]);
    assert.equal((await store.rates.take(limit)).queueMs, 0);
  });
});
