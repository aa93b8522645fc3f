// Readers and channels, whatever database is behind the store: whose language, time zone and choice holds, and what keeps or
// changes them.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { maxChannels, type Channel } from '../../src/audience/channels.ts';
import type { Registration, StoredSubscription } from '../../src/store/subscriptions.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { openForEachTest } from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { refuses } from '../../tools/refuses.ts';

const channel = (name: string, isOnByDefault = true): Channel => ({
  name,
  title: name.toUpperCase(),
  titles: {},
  isOnByDefault,
});

const factsOf = ({ language, timeZone, channels }: StoredSubscription) => [language, timeZone, channels];

const long = (letter: string) => ({ [letter]: letter.repeat(200) });

describe(`readers: ${databaseName()}`, () => {
  const store = openForEachTest(() => 1_800_000_000_000);

  const register = (index: number, registration: Partial<Registration> = {}) =>
    store.subscriptions.register({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      ...registration,
    });
  const read = async (id: number) => (await store.subscriptions.findById(id))!;

  describe('channels', () => {
    test('come by name, are replaced by name, and are gone once removed', async () => {
      const news = { ...channel('news'), titles: { de: 'Nachrichten', 'pt-BR': 'Notícias' } };
      await store.channels.put(channel('sport', false));
      await store.channels.put(channel('Zoo'));
      await store.channels.put(channel('news', false));
      await store.channels.put(news);
      assert.deepEqual(await store.channels.list(), [channel('Zoo'), news, channel('sport', false)]);
      assert.equal(await store.channels.remove('Zoo'), true);
      assert.equal(await store.channels.remove('Zoo'), false);
      await store.channels.put(channel('café'));
      assert.equal(await store.channels.remove('cafe\u0301'), true, 'a name has one spelling');
      assert.deepEqual(await store.channels.list(), [news, channel('sport', false)]);
    });

    test('are limited in number; the last one can still be changed, and choices for removed ones stay', async () => {
      const half = maxChannels - 10;
      for (let index = 0; index < half; index += 1) await store.channels.put(channel(`c${index}`));
      const atOnce = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) => store.channels.put(channel(`c${half + index}`))),
      );
      assert.equal(atOnce.filter(({ status }) => status === 'fulfilled').length, 10);
      await assert.rejects(store.channels.put(channel('more')), {
        code: 'ERR_FIELD_VALUE',
        message: 'There are 100 channels already; remove one first.',
      });
      await store.channels.put({ ...channel('c7'), title: 'Seven' });
      assert.equal((await store.channels.list()).length, maxChannels);

      const chosen = Object.fromEntries((await store.channels.list()).map((one) => [one.name, false]));
      const choose = (channels: Record<string, boolean>) => store.readers.setPerson('ada', { channels });
      await choose(chosen);
      const anonymous = await register(1);
      await store.readers.choose(anonymous, chosen);
      await store.channels.remove('c0');
      assert.deepEqual((await choose({ c1: true })).channels, { ...chosen, c1: true });
      await store.channels.put(channel('more'));
      const { c0: _, ...left } = chosen;
      assert.deepEqual((await choose({ more: true })).channels, { ...left, c1: true, more: true });
      await store.readers.choose(anonymous, { more: true });
      assert.deepEqual((await read(anonymous.id)).channels, { ...left, more: true });
    });
  });

  describe('a reader', () => {
    beforeEach(async () => {
      await store.channels.put(channel('news'));
      await store.channels.put(channel('sport', false));
      await store.channels.put(channel('constructor', false));
    });
    const defaults = { constructor: false, news: true, sport: false };

    test('keeps language, time zone and choices where a registration does not say them', async () => {
      const first = await register(1, { language: 'de', timeZone: 'Europe/Berlin' });
      assert.deepEqual(factsOf(first), ['de', 'Europe/Berlin', {}]);
      await store.readers.choose(first, { news: false });
      const again = await register(1);
      assert.deepEqual(factsOf(again), ['de', 'Europe/Berlin', { news: false }]);
      const moved = await register(1, { timeZone: 'Asia/Tokyo' });
      assert.deepEqual(await read(first.id), moved);
      assert.equal(moved.language, 'de');
      assert.equal(moved.timeZone, 'Asia/Tokyo');
      const translated = await register(1, { language: 'fr' });
      assert.deepEqual(factsOf(translated), ['fr', 'Asia/Tokyo', { news: false }]);
      await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey, { assign: { user: 'ada' } });
      assert.deepEqual(factsOf(await read(first.id)), factsOf(translated));
    });

    test('takes them along to the subscription that takes the place of another, also with a user', async () => {
      const own = { language: 'de', timeZone: 'Europe/Berlin' };
      for (const [index, assign] of [[1, undefined] as const, [3, { user: 'ada' }] as const]) {
        const former = await register(index, own);
        await store.readers.choose(former, { news: false });
        const stored = await register(index + 1, {
          former: madeUpSubscription(index),
          assign,
          language: 'fr',
        });
        assert.deepEqual(factsOf(stored), ['fr', 'Europe/Berlin', { news: false }]);
        assert.deepEqual(await read(stored.id), stored);
        assert.equal(stored.user, assign?.user);
      }
    });

    test('takes along each of them by itself', async () => {
      const timeZone = 'Europe/Berlin';
      await register(1, { timeZone });
      const second = await register(2, { former: madeUpSubscription(1) });
      assert.deepEqual(factsOf(second), [undefined, timeZone, {}]);
      await store.readers.choose(await register(3), { news: false });
      const fourth = await register(4, { former: madeUpSubscription(3) });
      assert.deepEqual(factsOf(fourth), [undefined, undefined, { news: false }]);
    });

    test('takes nothing along in the place of what it has of its own', async () => {
      const former = await register(1, { language: 'de', timeZone: 'Europe/Berlin' });
      await store.readers.choose(former, { news: false });
      const own = await register(2, { language: 'fr', timeZone: 'Asia/Tokyo' });
      // choices move all together or not at all
      await store.readers.choose(own, { sport: true });
      const stored = await register(2, { former: madeUpSubscription(1) });
      assert.deepEqual(factsOf(stored), ['fr', 'Asia/Tokyo', { sport: true }]);
    });

    test('has the default of a channel, then the own choice, then that of the person', async () => {
      const row = await register(1);
      assert.deepEqual(await store.readers.choices(row), defaults);
      assert.deepEqual(await store.readers.choose(row, { news: false, sport: true }), {
        ...defaults,
        news: false,
        sport: true,
      });
      await store.people.assign(row.id, { user: 'ada' });
      const ofAda = await read(row.id);
      assert.deepEqual(await store.readers.choices(ofAda), { ...defaults, news: false, sport: true });
      assert.deepEqual(await store.readers.choose(ofAda, { news: true }), {
        ...defaults,
        news: true,
        sport: true,
      });
      assert.deepEqual(await store.readers.choices(ofAda), { ...defaults, news: true, sport: true });
      assert.deepEqual(await store.readers.choices({ user: 'ada' }), { ...defaults, news: true });
      await store.people.signOut(ofAda.endpoint, ofAda.auth);
      assert.deepEqual(
        await store.readers.choices(await read(row.id)),
        { ...defaults, news: false, sport: true },
        'without the person those that were made here hold',
      );
    });

    test('cannot choose a channel that does not exist, and nothing else of the same call is stored', async () => {
      const row = await register(1);
      await assert.rejects(store.readers.choose(row, { sport: true, nwes: false }), {
        code: 'ERR_CHANNEL_NOT_FOUND',
        message: 'There is no channel "nwes"; there are constructor, news, sport.',
        fields: [
          {
            pointer: '/choices/nwes',
            code: 'ERR_CHANNEL_NOT_FOUND',
            detail: 'There is no channel "nwes"; there are constructor, news, sport.',
          },
        ],
      });
      await assert.rejects(store.readers.setPerson('ada', { language: 'de', channels: { toString: true } }), {
        message: 'There is no channel "toString"; there are constructor, news, sport.',
      });
      assert.deepEqual(await store.readers.choices(row), defaults);
      assert.equal((await store.readers.person('ada')).language, undefined);
    });

    test('has a choice again where its channel is made anew, and may withdraw it meanwhile', async () => {
      await store.readers.setPerson('ada', { channels: { news: false, sport: true } });
      await store.channels.remove('news');
      await store.channels.remove('sport');
      assert.deepEqual(await store.readers.choices({ user: 'ada' }), { constructor: false });
      await store.readers.setPerson('ada', { channels: { sport: null } });
      await store.channels.put(channel('news'));
      await store.channels.put(channel('sport', false));
      assert.deepEqual(await store.readers.choices({ user: 'ada' }), { ...defaults, news: false });
    });

    test('of two choices at a time loses none', async () => {
      const anonymous = await register(1);
      const ofAda = await register(2, { assign: { user: 'ada' } });
      for (const reader of [anonymous, ofAda]) {
        await Promise.all([
          store.readers.choose(reader, { news: false }),
          store.readers.choose(reader, { sport: true }),
          store.readers.choose(reader, { constructor: true }),
        ]);
        assert.deepEqual(await store.readers.choices(await read(reader.id)), {
          constructor: true,
          news: false,
          sport: true,
        });
      }
    });
  });

  describe('a person', () => {
    test('is changed member by member, and cleared with null', async () => {
      await store.channels.put(channel('news'));
      const nobody = { user: 'ada', data: {}, language: undefined, timeZone: undefined, channels: {} };
      assert.deepEqual(await store.readers.person('ada'), nobody);
      const changed = await store.readers.setPerson('ada', {
        data: { name: 'Ada', points: 3, caf: 'x' },
        language: 'de',
        channels: { news: false },
      });
      assert.deepEqual(changed, {
        user: 'ada',
        data: { name: 'Ada', points: 3, caf: 'x' },
        language: 'de',
        timeZone: undefined,
        channels: { news: false },
      });
      await store.readers.setPerson('ada', { data: { points: 4, caf: null }, timeZone: 'UTC' });
      assert.deepEqual(await store.readers.person('ada'), {
        ...changed,
        data: { name: 'Ada', points: 4 },
        timeZone: 'UTC',
      });
      const { timeZone } = await store.readers.setPerson('ada', { language: 'fr' });
      assert.equal(timeZone, 'UTC', 'it stays');
      const cleared = { data: null, language: null, timeZone: null, channels: null };
      assert.deepEqual(await store.readers.setPerson('ada', cleared), nobody);
      assert.deepEqual(await store.readers.person('ada'), nobody);
      for (const user of ['', 'x'.repeat(129)])
        await refuses(store.readers.setPerson(user, { language: 'de' }), 'ERR_FIELD_VALUE');
    });

    test('cannot have too much data, also where each change is small enough', async () => {
      for (const letter of 'abcd') await store.readers.setPerson('ada', { data: long(letter) });
      await assert.rejects(
        store.readers.setPerson('ada', { language: 'de', data: { ...long('e'), ...long('f') } }),
        {
          code: 'ERR_FIELD_VALUE',
          message: 'The data has 1243 bytes as JSON; at most 1024 are allowed.',
        },
      );
      assert.deepEqual(Object.keys((await store.readers.person('ada')).data), ['a', 'b', 'c', 'd']);
      assert.equal((await store.readers.person('ada')).language, undefined);
    });

    test('facts of several subscriptions are those of their persons, else their own', async () => {
      await store.channels.put(channel('news'));
      await store.channels.put(channel('sport'));
      const anonymous = await register(1, { language: 'de', timeZone: 'Europe/Berlin' });
      const ofAda = await register(2, { language: 'fr', timeZone: 'Asia/Tokyo', assign: { user: 'ada' } });
      await store.readers.choose({ ...ofAda, user: undefined }, { news: false, sport: false });
      await store.readers.setPerson('ada', {
        data: { name: 'Ada' },
        language: 'en',
        channels: { news: true },
      });
      const ofBob = await register(5, { timeZone: 'Asia/Tokyo', assign: { user: 'bob' } });
      await store.readers.setPerson('bob', { timeZone: 'Europe/Rome' });
      assert.equal((await store.readers.factsOf([ofBob])).get(ofBob.id)?.timeZone, 'Europe/Rome');
      // upper and lower case are two persons
      const ofEve = await register(6, { assign: { user: 'eve' } });
      await store.readers.setPerson('Eve', { data: { name: 'Eve' }, language: 'it' });
      assert.equal((await store.readers.factsOf([ofEve])).get(ofEve.id)?.language, undefined);
      assert.deepEqual(await store.readers.dataOf([ofEve]), {});
      assert.equal((await store.readers.person('eve')).language, undefined);
      const unknown = await register(3);
      const { endpoint } = madeUpSubscription(4);
      const asked = [anonymous, ofAda, unknown, { id: 1e9, endpoint }];
      const facts = await store.readers.factsOf(asked);
      assert.deepEqual(
        facts,
        new Map([
          [anonymous.id, { language: 'de', timeZone: 'Europe/Berlin', data: {}, channels: {} }],
          [
            ofAda.id,
            {
              language: 'en',
              timeZone: 'Asia/Tokyo',
              data: { name: 'Ada' },
              channels: { news: true, sport: false },
            },
          ],
          [unknown.id, { language: undefined, timeZone: undefined, data: {}, channels: {} }],
        ]),
      );
      assert.deepEqual(await store.readers.factsOf([]), new Map());
      assert.deepEqual(await store.readers.dataOf(asked), { [ofAda.id]: { name: 'Ada' } });
      assert.deepEqual(await store.readers.dataOf([anonymous]), {});
      assert.deepEqual(await store.readers.dataOf([]), {});
    });

    test('stays where its last subscription goes', async () => {
      await store.readers.setPerson('bob', { language: 'fr' });
      await store.subscriptions.removeById((await register(1, { assign: { user: 'bob' } })).id);
      assert.equal((await store.readers.person('bob')).language, 'fr');
    });
  });

  test('an import adds choices, and overrides none that the reader has made', async () => {
    await store.channels.put(channel('news'));
    const first = await register(1, { language: 'de' });
    await store.readers.choose(first, { news: false });
    const rows = [1, 2].map((index) => ({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      language: 'fr',
      channels: { news: true, sport: false },
    }));
    await store.subscriptions.putAll(rows);
    await store.subscriptions.putAll(
      rows.map((row) => ({ ...row, language: undefined, channels: undefined })),
    );
    const second = await store.subscriptions.findByEndpoint(madeUpSubscription(2).endpoint);
    assert.deepEqual(factsOf(await read(first.id)), ['fr', undefined, { news: false, sport: false }]);
    assert.deepEqual(factsOf(second!), ['fr', undefined, { news: true, sport: false }]);
  });
});
