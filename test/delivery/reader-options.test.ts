// What broadcasts that differ by reader are refused for, and what comes of them beside whole deliveries (`readers.test.ts`).
import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { countReadersOf } from '../../src/delivery/broadcast/count-readers.ts';
import { createBroadcast, type BroadcastOptions } from '../../src/delivery/broadcast/create-broadcast.ts';
import type { Audience } from '../../src/delivery/broadcast/audience.ts';
import { createSchedule } from '../../src/delivery/schedule/create-schedule.ts';
import { startDueBroadcasts } from '../../src/delivery/schedule/run-schedules.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import type { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { Message } from '../../src/protocol/message/message.ts';
import { openTestStore } from '../store/test-database.ts';
import { addSubscriptions } from '../store/store-under-test.ts';
import { pluck } from '../../tools/pluck.ts';

const message = { title: 'Hello', message: 'World' };
const filled: Message = { ...message, title: 'Hello {name}', placeholders: true };
const policy = createEndpointPolicy(['https://fcm.googleapis.com']);
/** Of nobody who is stored. */
const given = {
  endpoint: 'https://fcm.googleapis.com/fcm/send/given',
  p256dh: createECDH('prime256v1').generateKeys(),
  auth: randomBytes(16),
};
const three = { kind: 'exact', count: 3 } as const;
const noonMs = Date.parse('2026-12-01T12:00:00Z');

async function openStage() {
  const clock = { nowMs: noonMs };
  const { store, remove } = await openTestStore(() => clock.nowMs);
  await addSubscriptions(store, 3);
  await store.people.assign(1, { user: 'ada' });
  const create = async (options: BroadcastOptions, audience: Audience = 'all', text: Message = message) =>
    (await createBroadcast(store, policy, audience, text, options)).broadcast;
  return { store, clock, create, [Symbol.asyncDispose]: remove };
}

const atButton = (words: RegExp) => (error: DeskbellError) => {
  assert.match(error.message, words);
  assert.deepEqual(pluck(error.fields, 'pointer'), ['/message/texts/de/actions/0/title']);
  return true;
};

describe('a broadcast that differs by reader', () => {
  test('is refused with what to do', async () => {
    await using stage = await openStage();
    await stage.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: false });
    const refused: readonly [BroadcastOptions, RegExp][] = [
      [{ channel: 'tea' }, /no channel "tea"; there are news/],
      [{ ifTimePassed: 'skip' }, /"ifTimePassed" goes with localTime/],
      [{ localTime: '9 o’clock' }, /"localTime" must be a local time such as 09:00/],
      [{ localTime: '2026-11-30T09:00' }, /"localTime" is over in all time zones/],
      [{ localTime: '9999-12-31T12:00' }, /"localTime" is too late; give a time before the year 9999/],
      [{ startAt: new Date('9999-12-31') }, /The start .* is too late; give a time before the year 9999/],
      [{ quietHours: '22:00' }, /such as 22:00-07:00/],
      [{ perPerson: 'often' }, /such as 3\/day/],
      [{ skipInactive: 0 }, /"skipInactive" must be a whole number from 1 to 100, not 0/],
      [{ skipInactive: 101 }, /"skipInactive" must be a whole number from 1 to 100, not 101/],
      [{ localTime: '09:00', timeZone: 'Mars' }, /"timeZone" must be the name of a time zone/],
    ];
    for (const [options, words] of refused) await assert.rejects(stage.create(options), { message: words });
    const subscriptions = [given];
    await assert.rejects(stage.create({ channel: 'news' }, { subscriptions }), { message: /off by default/ });
    const passed = { localTime: '2026-12-01T09:00', ifTimePassed: 'skip' } as const;
    await assert.rejects(stage.create(passed, { subscriptions }), { message: /nobody would get it/ });
    const schedule = { cron: '0 9 * * 1', perPerson: '3' };
    await assert.rejects(createSchedule(stage.store, 'all', message, schedule), {
      message: /such as 3\/day/,
    });
  });

  test('needs defaults for placeholders unless it is to one person, whose values are there', async () => {
    await using stage = await openStage();
    const code = 'ERR_PLACEHOLDER_VALUE';
    await assert.rejects(stage.create({}, 'all', filled), {
      code,
      message: /\{name\} in title.*\{name\|there\}/,
    });
    await assert.rejects(stage.create({}, { tags: { all: ['news'] } }, filled), { code });
    await assert.rejects(stage.create({}, { user: 'ada' }, filled), { code });
    await stage.store.readers.setPerson('ada', { data: { name: 'Ada' } });
    const texts = { de: { actions: [{ title: '{order}' }] } };
    const german: Message = { ...filled, actions: [{ title: 'Order' }], texts };
    await assert.rejects(
      stage.create({}, { user: 'ada' }, german),
      atButton(/in texts\.de\.actions\[0\]\.title.*data of/),
    );
    await assert.rejects(
      stage.create({}, 'all', { ...german, title: 'Hello' }),
      atButton(/only a message to one person/),
    );
    assert.equal((await stage.create({}, { user: 'ada' }, filled)).hasPlaceholders, true);
    await assert.rejects(createSchedule(stage.store, { user: 'ada' }, filled, { cron: '0 9 * * *' }), {
      code,
    });
  });

  test('is counted reader by reader', async () => {
    await using stage = await openStage();
    await stage.store.readers.setPerson('ada', { language: 'de' });
    const text = { ...message, texts: { de: { title: 'Hallo' } } };
    const count = async (audience: Audience) => {
      const readers = await countReadersOf(audience, text, {}, stage.store, { kind: 'most', count: 3 }, 3);
      assert.equal(readers?.isEstimate, false);
      assert.deepEqual(readers.reached, { kind: 'exact', count: readers.lookedAt });
      return [readers.lookedAt, Object.fromEntries(readers.byText)];
    };
    assert.deepEqual(await count('all'), [3, { de: 1, undefined: 2 }]);
    assert.deepEqual(await count({ ids: [1, 3, 3, 99] }), [2, { de: 1, undefined: 1 }]);
    assert.deepEqual(await count({ user: 'ada' }), [1, { de: 1 }]);
    // a channel that only one of them has turned on
    await stage.store.channels.put({ name: 'offers', title: 'Offers', titles: {}, isOnByDefault: false });
    await stage.store.readers.setPerson('ada', { channels: { offers: true } });
    const readers = await countReadersOf('all', text, { channel: 'offers' }, stage.store, three, 9);
    assert.deepEqual([readers?.channelOff, readers?.byText], [2, new Map([['de', 1]])]);
  });

  test('to given subscriptions is for the time of its own zone, and leaves none out as inactive', async () => {
    await using stage = await openStage();
    const subscriptions = [given];
    const times = { localTime: '23:00', quietHours: '22:00-07:00', timeZone: 'Europe/Berlin' };
    await stage.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
    const others = { channel: 'news', ifTimePassed: 'skip', skipInactive: 1 } as const;
    const broadcast = await stage.create({ ...times, ...others }, { subscriptions });
    assert.deepEqual([broadcast.state, broadcast.recipients, broadcast.inactive], ['running', 1, 0]);
    assert.equal(new Date(broadcast.startAtMs).toISOString(), '2026-12-02T06:00:00.000Z');
    assert.equal(broadcast.expiresAtMs, broadcast.startAtMs + broadcast.ttlSeconds * 1000);
    assert.equal(broadcast.localTime, '2026-12-01T23:00');
    // one that is over, a channel, and other texts than its own
    const german = { ...message, texts: { de: { title: 'Hallo' } } };
    for (const options of [
      { localTime: '2026-12-01T09:00', ifTimePassed: 'send' },
      { channel: 'news' },
    ] as const) {
      const { startAtMs, state, texts } = await stage.create(options, { subscriptions }, german);
      assert.deepEqual([startAtMs, state, texts], [noonMs, 'running', [{ language: 'de', recipients: 0 }]]);
    }
    // the next time is counted from the start on, as a dry run says too
    const later = { localTime: '09:00', startAt: new Date(noonMs + 24 * 3_600_000) };
    assert.equal((await stage.create(later)).localTime, '2026-12-03T09:00');
    await stage.store.readers.setPerson('ada', { timeZone: 'America/New_York' });
    const { fromMs, throughMs } = (await countReadersOf('all', message, later, stage.store, three, 9))!;
    assert.equal(new Date(fromMs!).toISOString(), '2026-12-03T09:00:00.000Z');
    assert.equal(new Date(throughMs!).toISOString(), '2026-12-03T14:00:00.000Z');
  });

  test('with a key is the same one the next day, though its time has been resolved', async () => {
    await using stage = await openStage();
    const options = { localTime: '09:00', idempotencyKey: 'news' };
    const { id } = await stage.create(options, { tags: { all: ['news'] } });
    stage.clock.nowMs += 24 * 3_600_000;
    assert.equal((await stage.create(options, { tags: { all: ['news'] } })).id, id);
    const others: readonly BroadcastOptions[] = [
      { localTime: '10:00' },
      { quietHours: '22:00-07:00' },
      { ifTimePassed: 'skip' },
      { timeZone: 'Asia/Tokyo' },
      { channel: 'news' },
      { skipInactive: 3 },
      { priority: 'high' },
      { perPerson: '3/day' },
    ];
    for (const other of others) {
      await assert.rejects(stage.create({ ...options, ...other }, { tags: { all: ['news'] } }), {
        code: 'ERR_IDEMPOTENCY_KEY',
      });
    }
  });
});

describe('a schedule with a local time', () => {
  test('resolves it for each occurrence, in its own zone, and hands on its other options', async () => {
    await using stage = await openStage();
    const { store, clock } = stage;
    await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
    const others = {
      ttlSeconds: 7200,
      urgency: 'high',
      topic: 'tea',
      priority: 'high',
      perPerson: '3/day',
      skipInactive: 100,
      channel: 'news',
      ifTimePassed: 'skip',
      quietHours: '22:00-07:00',
    } as const;
    const times = { cron: '0 6 * * *', timezone: 'Asia/Tokyo', localTime: '09:00' };
    const options = { ...times, ...others, receipts: true };
    await createSchedule(store, 'all', message, options);
    for (const day of [2, 3]) {
      // late, and still for the occurrence's own day
      clock.nowMs = Date.parse(`2026-12-0${day}T06:00:00+09:00`) + 50 * 60_000;
      await startDueBroadcasts({ store, policy });
      const [broadcast] = await store.broadcasts.list({ limit: 1 });
      assert.deepEqual([broadcast?.localTime, broadcast?.timeZone], [`2026-12-0${day}T09:00`, 'Asia/Tokyo']);
      assert.deepEqual({ ...broadcast, ...others, receipts: [] }, broadcast);
      // whose time has come since then is not late
      assert.equal(broadcast?.startAtMs, clock.nowMs - 50 * 60_000);
    }
    await createSchedule(store, 'all', message, { ...options, timeZone: 'Europe/Rome' });
    clock.nowMs = Date.parse('2026-12-04T06:00:00+09:00');
    await startDueBroadcasts({ store, policy });
    const zones = async () => (await store.broadcasts.list({ limit: 2 })).map(({ timeZone }) => timeZone);
    assert.deepEqual(new Set(await zones()), new Set(['Asia/Tokyo', 'Europe/Rome']), 'one of its own holds');
    const quietHours = '22:00-07:00';
    await createSchedule(store, 'all', message, { cron: '5 6 * * *', timezone: 'Asia/Seoul', quietHours });
    clock.nowMs += 5 * 60_000;
    await startDueBroadcasts({ store, policy });
    assert.equal((await zones())[0], 'Asia/Seoul', 'quiet hours have it too');
    await assert.rejects(
      createSchedule(store, 'all', message, { ...options, localTime: '2027-01-01T09:00' }),
      {
        message: /time of day/,
      },
    );
  });

  test('leaves an occurrence out whose channel is not there any more, and goes on', async () => {
    await using stage = await openStage();
    const { store, clock } = stage;
    for (const name of ['news', 'sport'])
      await store.channels.put({ name, title: name, titles: {}, isOnByDefault: true });
    const cron = '0 6 * * *';
    const toNone = createSchedule(store, 'all', message, { cron, channel: 'tea' });
    await assert.rejects(toNone, { code: 'ERR_CHANNEL_NOT_FOUND' });
    const { id } = await createSchedule(store, 'all', message, { cron, channel: 'news' });
    const warnings: string[] = [];
    const madeAt = async (time: string) => {
      clock.nowMs = Date.parse(time);
      await startDueBroadcasts({ store, policy, onWarning: (text) => warnings.push(text) });
      return (await store.broadcasts.list({ limit: 9 })).map(({ channel }) => channel);
    };
    assert.deepEqual(await madeAt('2026-12-02T06:00:00Z'), ['news']);
    assert.deepEqual(warnings, []);
    await store.channels.remove('news');
    assert.deepEqual(await madeAt('2026-12-03T06:00:00Z'), ['news']);
    assert.match(warnings.join(), /no channel "news" any more/);
    assert.equal((await store.schedules.get(id)).nextAtMs, Date.parse('2026-12-04T06:00:00Z'));
  });
});
