// Audiences that are split by their readers: who has a channel on, which text each gets, and when.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Broadcast, NewBroadcast } from '../../src/store/broadcasts.ts';
import type { SliceLease } from '../../src/store/leases.ts';
import { receiptWindowMs, type ReceiptEvent } from '../../src/store/receipts.ts';
import type { AudienceSplit } from '../../src/store/split-audience.ts';
import { explain } from '../../src/operations/outcomes.ts';
import { until } from '../../tools/until.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  acceptAll,
  addSubscriptions,
  commitSlice,
  leaseSlices,
  madeUpBroadcast,
  openForEachTest,
  openIds,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { refuses } from '../../tools/refuses.ts';

const hourMs = 3_600_000;
/** Longer than any test goes on by its clock. */
const leaseMs = 48 * hourMs;
const origin = 'https://fcm.googleapis.com';
/** 12:00 in Berlin, 06:00 in New York, 20:00 in Tokyo. */
const noonMs = Date.parse('2026-12-01T11:00:00Z');
const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo'];
const languages = ['de', 'pt-BR', 'fr'];
const texts = new Map([
  ['de', Buffer.from('{"title":"Hallo","message":"Welt"}')],
  ['pt', Buffer.from('{"title":"Olá","message":"Mundo"}')],
]);

const idsOf = (leases: readonly SliceLease[]): readonly number[] =>
  leases.flatMap(({ members }) => members?.ids ?? []).toSorted((one, other) => one - other);
const everyThird = (rest: number): readonly number[] =>
  Array.from({ length: 30 }, (_, index) => index + 1).filter((id) => id % 3 === rest);

describe(`split audiences: ${databaseName()}`, () => {
  let nowMs = noonMs;
  const store = openForEachTest(() => nowMs);
  beforeEach(async () => {
    nowMs = noonMs;
    await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
    await addSubscriptions(store, 30);
    for (let id = 1; id <= 30; id += 1) {
      await store.people.assign(id, { user: `user-${id}`, tags: [id <= 20 ? 'early' : 'late'] });
      await store.readers.setPerson(`user-${id}`, {
        language: languages[id % 3]!,
        timeZone: zones[id % 3]!,
        ...(id > 25 && { channels: { news: false } }),
      });
    }
  });

  const begin = async (split: AudienceSplit, draft: Partial<NewBroadcast> = {}): Promise<Broadcast> => {
    const audienceId = draft.audienceId ?? (await store.broadcasts.openAudience());
    const { broadcast } = await store.broadcasts.create({
      ...madeUpBroadcast(nowMs, draft),
      ...split.times,
      audienceId,
      ...(draft.audienceId === undefined && { matching: draft.matching ?? {} }),
      split,
    });
    return broadcast;
  };
  const finishPreparing = async (id: number): Promise<Broadcast> => {
    while (await store.broadcasts.prepare(id, 'test'));
    return store.broadcasts.get(id);
  };
  const make = async (split: AudienceSplit, draft: Partial<NewBroadcast> = {}): Promise<Broadcast> =>
    finishPreparing((await begin(split, draft)).id);
  /** What the slices that are free now say of their rows. */
  const leaseAll = () => leaseSlices(store, undefined, leaseMs);
  const times = (changes: Partial<NonNullable<AudienceSplit['times']>> = {}): AudienceSplit => ({
    languages: [],
    times: { timeZone: 'UTC', ifTimePassed: 'send', startAtMs: nowMs, ttlSeconds: 13 * 3600, ...changes },
  });

  for (const [whom, draft] of [
    ['all', {}],
    ['an expression', { matching: { tags: { any: ['early', 'late'] } } }],
  ] as const) {
    test(`to ${whom}: only those who have the channel on are reached`, async () => {
      const broadcast = await make({ channel: { name: 'news', isOnByDefault: true }, languages: [] }, draft);
      assert.equal(broadcast.recipients, 25);
      assert.equal((await acceptAll(store, origin)).length, 25);
      assert.equal((await store.broadcasts.get(broadcast.id)).counts.accepted, 25);
      assert.deepEqual(await store.broadcasts.leftOut(broadcast.id), { channelOff: 5 });
      assert.equal((await store.broadcasts.get(broadcast.id)).state, 'done');
    });
  }

  test('to a list of ids: those who are stored and have the channel on', async () => {
    const audienceId = await openIds(store, [1, 2, 24, 25, 26, 27, 4711]);
    const channel = { name: 'news', isOnByDefault: true };
    const broadcast = await make({ channel, languages: [] }, { audienceId, list: 'ids' });
    assert.deepEqual([broadcast.recipients, broadcast.state], [4, 'running']);
    assert.deepEqual(idsOf(await leaseAll()), [1, 2, 24, 25]);
  });

  test('a channel that is off by default reaches those who have chosen it', async () => {
    // a dot in a name leads nowhere else
    const offers = 'offers.2026';
    await store.channels.put({ name: offers, title: 'Offers', titles: {}, isOnByDefault: false });
    await store.readers.choose({ user: 'user-7' }, { [offers]: true });
    // in browsers, before there were persons: that of 8 holds, since the person has chosen nothing
    for (const id of [8, 9])
      await store.readers.choose({ id, user: undefined, channels: {} }, { [offers]: true });
    await store.readers.choose({ user: 'user-9' }, { [offers]: false });
    const broadcast = await make({ channel: { name: offers, isOnByDefault: false }, languages: [] });
    assert.equal(broadcast.recipients, 2);
    assert.deepEqual(idsOf(await leaseAll()), [7, 8]);
  });

  /** Four broadcasts with receipts that are over, and what browsers reported of them. @returns their ids */
  const report = async (): Promise<readonly number[]> => {
    const ids: number[] = [];
    for (let number = 0; number < 4; number += 1) {
      const draft = madeUpBroadcast(nowMs, { receiptActions: ['open'] });
      ids.push((await store.broadcasts.create(draft)).broadcast.id);
      await store.broadcasts.cancel(ids.at(-1)!);
    }
    const reported: readonly (readonly [
      subscriptionId: number,
      event: ReceiptEvent,
      ...numbers: number[],
    ])[] = [
      [1, 'shown', 0, 1, 2],
      [2, 'shown', 0, 1, 2],
      [2, 'clicked', 2],
      [3, 'shown', 0, 1],
      [4, 'shown', 0, 1, 2, 3],
      [4, 'clicked', 0],
      [5, 'shown', 1, 2, 3],
      [5, 'clicked', 1],
      [6, 'shown', 0, 1, 2],
      [6, 'dismissed', 0, 1, 2],
      [7, 'dismissed', 0, 1, 2],
      // the last one was shown, too, or nobody could have clicked on it
      [8, 'shown', 0, 1, 2],
      [8, 'clicked', 3],
      // has the channel off
      [26, 'shown', 0, 1, 2],
    ];
    const receipts = reported.flatMap(([subscriptionId, event, ...numbers]) =>
      numbers.map((number) => ({ broadcastId: ids[number]!, subscriptionId, event })),
    );
    assert.equal(await store.receipts.add(receipts), receipts.length);
    return ids;
  };
  const inactiveOf = async (skipInactive: number): Promise<readonly number[]> => {
    const rows = await store.subscriptions.page({ afterId: 0, limit: 30 });
    const facts = await store.readers.factsOf(rows, skipInactive);
    return [...facts].filter(([, { isInactive }]) => isInactive === true).map(([id]) => id);
  };

  for (const whom of ['all', 'ids'] as const) {
    test(`to ${whom}: those who clicked on none of the last broadcasts shown to them are left out, and told so`, async () => {
      const [first] = await report();
      // with so many who are not stored that it is prepared in several steps
      const absent = Array.from({ length: 400 }, (_, index) => 1000 + index);
      const ids = [1, 2, 3, 4, 5, 6, 7, 8, 26, ...absent];
      const draft: Partial<NewBroadcast> =
        whom === 'ids' ? { audienceId: await openIds(store, ids), list: whom } : {};
      const channel = { name: 'news', isOnByDefault: true };
      const { id, recipients, inactive, state } = await make(
        { skipInactive: 3, channel, languages: [...texts.keys()] },
        { ...draft, texts, skipInactive: 3 },
      );
      assert.deepEqual([recipients, inactive, state], [whom === 'ids' ? 5 : 22, 3, 'running']);
      assert.deepEqual(
        idsOf(await leaseAll()).filter((member) => member <= 8),
        [2, 3, 5, 7, 8],
      );
      // what is reported later does not change what was decided
      await store.receipts.add([{ broadcastId: first!, subscriptionId: 1, event: 'clicked' }]);
      const outcomes = await store.attempts.outcomesOf(id, [1, 2, 4, 6, 26]);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.state),
        ['inactive', 'pending', 'inactive', 'inactive', 'channelOff'],
      );
      assert.equal(
        explain(outcomes[0]!),
        'It was left out, since its browser reported no click on the last 3 broadcasts shown there.',
      );
      const [newest] = (await store.attempts.outcomesTo([1], { limit: 1 })).outcomes;
      assert.deepEqual([newest?.broadcastId, newest?.state], [id, 'inactive']);
      await store.broadcasts.cancel(id);
      nowMs += 72 * hourMs;
      while (await store.retention.prune({ attemptsBeforeMs: nowMs }));
      assert.equal((await store.attempts.outcomesOf(id, [1]))[0]?.state, 'noLongerKept');
      if (whom === 'all') return;
      const subscriptions = [madeUpSubscription(1)];
      await refuses(store.broadcasts.addToAudience(draft.audienceId!, subscriptions), 'ERR_FIELD_VALUE');
    });
  }

  test('who is inactive depends on so many broadcasts, shown in the last 30 days', async () => {
    await report();
    assert.deepEqual(await inactiveOf(1), [1, 3, 4, 5, 6, 26]);
    assert.deepEqual(await inactiveOf(2), [1, 3, 4, 5, 6, 26]);
    assert.deepEqual(await inactiveOf(3), [1, 4, 6, 26]);
    assert.deepEqual(await inactiveOf(4), []);
    nowMs += receiptWindowMs;
    while (await store.receipts.prune());
    assert.deepEqual(await inactiveOf(1), []);
    const nobody = await make({ skipInactive: 1, languages: [] }, { skipInactive: 1 });
    assert.deepEqual([nobody.recipients, nobody.inactive], [30, 0]);
  });

  test('each reader gets one text: that of the language, or the message’s own', async () => {
    const broadcast = await make({ languages: [...texts.keys()] }, { texts });
    assert.deepEqual(broadcast.texts, [
      { language: 'de', recipients: 10 },
      { language: 'pt', recipients: 10 },
    ]);
    assert.equal(broadcast.recipients, 30);
    const stored = await store.broadcasts.texts(broadcast.id);
    assert.deepEqual(
      [...stored].map(([language, text]) => [language, Buffer.from(text)]),
      [...texts],
    );
    const leases = await leaseAll();
    for (const [index, language] of [undefined, 'de', 'pt'].entries()) {
      const some = leases.filter(({ reader }) => reader?.language === language);
      // fr has no text; languages are in the order of `languages`, by id % 3
      assert.deepEqual(idsOf(some), everyThird([2, 0, 1][index]!), language ?? 'own');
    }
  });

  test('language and time zone are those of the person, else those of the browser', async () => {
    const own = { language: 'de', timeZone: 'America/New_York' };
    const [ofBrowser, ofBoth] = [100, 101].map((index) => ({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      assign: { user: `browser-${index}` },
      ...own,
    }));
    const ids: number[] = [];
    for (const registration of [ofBrowser!, ofBoth!])
      ids.push((await store.subscriptions.register(registration)).id);
    // the former is another person than that of the first one
    for (const user of ['Browser-100', 'browser-101'])
      await store.readers.setPerson(user, { language: 'pt-BR', timeZone: 'Asia/Tokyo' });
    const audienceId = await openIds(store, ids);
    const split = { ...times({ localTime: '2026-12-01T12:00' }), languages: [...texts.keys()] };
    await make(split, { texts, audienceId, list: 'ids' });
    nowMs = noonMs + 7 * hourMs;
    const reader = new Map((await leaseAll()).map((lease) => [idsOf([lease])[0], lease.reader]));
    assert.deepEqual(
      reader,
      new Map([
        [ids[0], { language: 'de', timeZone: 'America/New_York' }],
        [ids[1], { language: 'pt', timeZone: 'Asia/Tokyo' }],
      ]),
    );
  });

  test('a group is not free before its local time, and wakes workers then', async () => {
    const broadcast = await make(times({ localTime: '2026-12-01T13:00' }));
    // Tokyo's is over; Berlin's comes in an hour, New York's in seven
    assert.deepEqual(await store.broadcasts.timesToCome(broadcast.id), [
      { atMs: noonMs + hourMs, recipients: 10, timeZones: ['Europe/Berlin'] },
      { atMs: noonMs + 7 * hourMs, recipients: 10, timeZones: ['America/New_York'] },
    ]);
    assert.deepEqual(idsOf(await leaseAll()), everyThird(2));
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);
    const signal = new AbortController().signal;
    // notices of what was made may still come
    await until(
      async () => (await store.leases.waitForWork({ broadcastId: broadcast.id, signal })) === 'idle',
      'that nothing is due',
    );
    nowMs = noonMs + hourMs - 1;
    assert.deepEqual(await leaseAll(), []);
    nowMs += 1;
    assert.equal(await store.leases.waitForWork({ broadcastId: broadcast.id, signal }), 'ready');
    assert.deepEqual(
      idsOf(await leaseAll()).filter((id) => id % 3 === 0),
      everyThird(0),
    );
    nowMs = noonMs + 7 * hourMs - 1;
    assert.ok(!idsOf(await leaseAll()).some((id) => id % 3 === 1));
    nowMs += 1;
    assert.ok(idsOf(await leaseAll()).some((id) => id % 3 === 1));
    assert.equal(broadcast.expiresAtMs, noonMs + 7 * hourMs + 13 * hourMs);
    assert.deepEqual(await store.broadcasts.timesToCome(broadcast.id), []);
  });

  test('a person who is removed is no recipient of times to come any more', async () => {
    const ids: number[] = [];
    for (const [index, user] of ['to-stay', 'to-remove'].entries()) {
      const subscription = madeUpSubscription(100 + index);
      const registration = { subscription, vapidPublicKey, assign: { user }, timeZone: 'America/New_York' };
      ids.push((await store.subscriptions.register(registration)).id);
    }
    const audienceId = await openIds(store, ids);
    const { id } = await make(times({ localTime: '2026-12-01T13:00' }), { audienceId, list: 'ids' });
    await store.people.remove('to-remove');
    assert.deepEqual(await store.broadcasts.timesToCome(id), [
      { atMs: noonMs + 7 * hourMs, recipients: 1, timeZones: ['America/New_York'] },
    ]);
  });

  test('those whose local time is over are left out where that is asked for', async () => {
    const broadcast = await make(times({ localTime: '2026-12-01T13:00', ifTimePassed: 'skip' }));
    assert.equal(broadcast.recipients, 20);
    // it starts with the first who get it
    assert.equal(broadcast.startAtMs, noonMs + hourMs);
    assert.deepEqual(await leaseAll(), []);
    assert.deepEqual(await store.broadcasts.leftOut(broadcast.id), { timePassed: 10 });
  });

  test('receipts are counted for 30 days from the first local time on', async () => {
    const { id: broadcastId } = await make(times({ localTime: '2026-12-01T13:00', ifTimePassed: 'skip' }), {
      receiptActions: [],
    });
    nowMs = noonMs + hourMs + receiptWindowMs - 1;
    assert.equal(await store.receipts.add([{ broadcastId, subscriptionId: 3, event: 'shown' }]), 1);
    nowMs += 1;
    assert.equal(await store.receipts.add([{ broadcastId, subscriptionId: 6, event: 'shown' }]), 0);
  });

  test('quiet hours hold a group until they end, unless the message is over by then', async () => {
    const held = await make(times({ quietHours: '20:00-08:00' }));
    assert.deepEqual(idsOf(await leaseAll()), everyThird(0));
    await store.broadcasts.cancel(held.id);
    const short = await make(times({ quietHours: '20:00-08:00', ttlSeconds: 3600 }));
    // New York's end in two hours, Tokyo's in twelve: both are free, and expire when they are looked at
    assert.equal(idsOf(await leaseAll()).length, 30);
    assert.equal(short.startAtMs, noonMs);
    await store.broadcasts.cancel(short.id);
    // a TTL of a minute counts as one of an hour
    for (const [quietHours, free] of [
      ['20:00-20:59', 20],
      ['20:00-21:00', 30],
      ['20:00-21:01', 30],
    ] as const) {
      const { id } = await make(times({ quietHours, ttlSeconds: 60 }));
      assert.equal(idsOf(await leaseAll()).length, free);
      await store.broadcasts.cancel(id);
    }
  });

  test('the time of a group survives a pause, a process that gives slices back, and the removal of a person', async () => {
    const { id } = await make(times({ localTime: '2026-12-01T13:00' }));
    const free = await leaseAll();
    assert.deepEqual(idsOf(free), everyThird(2));
    for (const lease of free) await store.leases.release(lease);
    await store.broadcasts.pause(id);
    await store.broadcasts.resume(id);
    await store.people.remove('user-1');
    await store.people.remove('user-3');
    const again = await leaseAll();
    assert.deepEqual(idsOf(again), everyThird(2));
    for (const lease of again) {
      await commitSlice(store, lease, withResult(origin, 'accepted'), leaseMs);
    }
    nowMs = noonMs + 8 * hourMs;
    assert.ok((await acceptAll(store, origin)).length > 0);
    const { state, counts } = await store.broadcasts.get(id);
    assert.deepEqual([state, counts.accepted, counts.removed, counts.unaccounted], ['done', 28, 2, 0]);
  });

  test('a row that is tried again keeps its text and its time zone', async () => {
    await make({ ...times({ localTime: '2026-12-01T12:00' }), languages: [...texts.keys()] }, { texts });
    const slices = await leaseAll();
    const slice = slices.find(({ reader }) => reader?.language === 'de');
    assert.ok(slice);
    const reader = slice.reader;
    await commitSlice(store, slice, withRetry(origin, nowMs, { reader }), leaseMs);
    const lease = await store.leases.leaseRetries({ leaseMs, limit: 100 });
    assert.equal(lease?.rows.length, slice.members?.ids.length);
    for (const row of lease!.rows) assert.deepEqual(row.reader, reader);
    assert.equal(reader?.language, 'de');
    assert.ok(reader.timeZone !== undefined);
  });

  test('is prepared by whoever goes on, and holds nothing twice', async () => {
    const { id } = await begin({ languages: [...texts.keys()] }, { texts });
    assert.equal((await store.broadcasts.get(id)).state, 'preparing');
    await store.broadcasts.pause(id);
    assert.equal(await store.broadcasts.prepare(id, 'first'), false);
    await store.broadcasts.resume(id);
    await store.broadcasts.prepare(id, 'first');
    nowMs += hourMs;
    const broadcast = await finishPreparing(id);
    assert.deepEqual([broadcast.recipients, broadcast.state], [30, 'running']);
    assert.deepEqual(
      idsOf(await leaseAll()),
      Array.from({ length: 30 }, (_, index) => index + 1),
    );
  });
});
