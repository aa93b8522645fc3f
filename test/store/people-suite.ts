// What every store must do with users and tags: keep them, find subscriptions by them, and forget a person.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  type AudienceExpression,
  type UserAndTags,
  checkExpression,
} from '../../src/audience/user-and-tags.ts';
import type { Registration, StoredSubscription } from '../../src/store/subscriptions.ts';
import { madeUpSubscription, nothingRemoved, vapidPublicKey } from './made-up-subscription.ts';
import {
  addSubscriptions,
  commitSlices,
  createMatching,
  leaseNext,
  leaseSlices,
  madeUpBroadcast,
  madeUpSchedule,
  openForEachTest,
  openForSuite,
  openIds,
  openList,
  recordAnswer,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';
import { refuses } from '../../tools/refuses.ts';

const origin = 'https://fcm.googleapis.com';
const ada = { user: 'ada', tags: ['beta', 'de'] };
const ownerOf = ({ user, tags }: Partial<StoredSubscription> = {}) => ({ user, tags });

const tagsOf = (index: number) => [
  ...(index % 2 === 0 ? ['even'] : []),
  ...(index % 3 === 0 ? ['three'] : []),
  ...(index % 5 === 0 ? ['five'] : []),
  ...(index % 1000 === 999 ? ['rare'] : []),
];

describe(`people: ${databaseName()}`, () => {
  const nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

  const put = (index: number, assign?: UserAndTags) =>
    store.subscriptions.put(madeUpSubscription(index), vapidPublicKey, { assign });
  const register = (index: number, options: Partial<Registration>) =>
    store.subscriptions.register({ subscription: madeUpSubscription(index), vapidPublicKey, ...options });
  const read = async (id: number) => ownerOf(await store.subscriptions.findById(id));

  const createBroadcast = (audienceId: number | undefined, user?: string) =>
    store.broadcasts.create(
      madeUpBroadcast(nowMs, { audienceId, user, sliceRows: 1000, receiptActions: [] }),
    );

  /** Gives every row of the broadcast that result. */
  const settle = (broadcastId: number, result: 'accepted' | 'gone' | 'retry') => {
    const toResult =
      result === 'retry' ? withRetry(origin, nowMs, { delayMs: 60_000 }) : withResult(origin, result);
    const record = { atMs: nowMs, attempt: 1 };
    return commitSlices(store, broadcastId, (recipient) => ({ ...toResult(recipient), record }));
  };

  describe('of a subscription', () => {
    test('a registration that says nothing of them changes neither; one that does replaces both', async () => {
      const { id } = await put(1, ada);
      assert.deepEqual(ownerOf(await put(1)), ada);
      assert.deepEqual(ownerOf(await put(1, { tags: ['x'] })), { user: undefined, tags: ['x'] });
      assert.deepEqual(ownerOf(await put(1, { user: 'bob' })), { user: 'bob', tags: [] });
      await store.subscriptions.putAll([
        { subscription: madeUpSubscription(1), vapidPublicKey },
        { subscription: madeUpSubscription(2), vapidPublicKey, assign: ada },
      ]);
      assert.deepEqual(await read(id), { user: 'bob', tags: [] });
      const second = await store.subscriptions.findByEndpoint(madeUpSubscription(2).endpoint);
      assert.deepEqual(ownerOf(second), ada);
    });

    test('they move to the subscription that takes the place of a former one, with its auth only', async () => {
      const { id, endpoint, auth } = await put(1, ada);
      const wrong = { endpoint, auth: madeUpSubscription(9).auth };
      const anonymous = await register(2, { former: wrong });
      assert.deepEqual(ownerOf(anonymous), { user: undefined, tags: [] });
      // in whatever spelling of its endpoint
      const moved = await register(2, { former: { endpoint: endpoint.replace('https', 'HTTPS'), auth } });
      assert.deepEqual(ownerOf(moved), ada);
      assert.deepEqual(await read(id), { user: undefined, tags: [] });
      // each of them without the other, too
      for (const owner of [{ tags: ['de'] }, { user: 'bob' }]) {
        const former = await put(3, owner);
        const next = await register(4, { former });
        assert.deepEqual(ownerOf(next), { user: undefined, tags: [], ...owner });
        await store.subscriptions.removeById(next.id);
      }
    });

    test('they do not move to a subscription that has its own, nor beside a registration that names them', async () => {
      const { id, endpoint, auth } = await put(1, ada);
      const former = { endpoint, auth };
      const bob = await put(2, { user: 'bob' });
      await register(2, { former });
      assert.deepEqual(await read(bob.id), { user: 'bob', tags: [] });
      const tagged = await put(4, { tags: ['own'] });
      await register(4, { former });
      assert.deepEqual(await read(tagged.id), { user: undefined, tags: ['own'] });
      const assigned = await register(3, { assign: { tags: ['de'] }, former });
      assert.deepEqual(ownerOf(assigned), { user: undefined, tags: ['de'] });
      const nobody = await register(5, { assign: {}, former });
      assert.deepEqual(ownerOf(nobody), { user: undefined, tags: [] });
      await register(1, { former });
      assert.deepEqual(await read(id), ada, 'a subscription is not its own former one');
    });

    test('signing out clears both, with the right auth only', async () => {
      const { id, endpoint, auth } = await put(1, ada);
      assert.equal(await store.people.signOut(endpoint, madeUpSubscription(2).auth), false);
      assert.equal(await store.people.signOut(`${endpoint}\0`, auth), false);
      assert.deepEqual(await read(id), ada);
      assert.equal(await store.people.signOut(endpoint.replace('https', 'HTTPS'), auth), true);
      assert.deepEqual(await read(id), { user: undefined, tags: [] });
    });

    test('they are replaced, and tags are added and taken away, without renewing the subscription', async () => {
      const { id, updatedAtMs } = await put(1, ada);
      assert.equal(await store.people.changeTags(id, { add: ['news', 'de'], remove: ['beta'] }), true);
      assert.deepEqual(await read(id), { user: 'ada', tags: ['de', 'news'] });
      assert.equal(await store.people.assign(id, { tags: ['x'] }), true);
      assert.deepEqual(await read(id), { user: 'ada', tags: ['x'] });
      const both = [store.people.assign(id, { user: 'bob' }), store.people.assign(id, { tags: ['y'] })];
      assert.deepEqual(await Promise.all(both), [true, true]);
      assert.deepEqual(await read(id), { user: 'bob', tags: ['y'] });
      await store.people.assign(id, { user: null });
      assert.deepEqual(await read(id), { user: undefined, tags: ['y'] });
      assert.equal((await store.subscriptions.findById(id))?.updatedAtMs, updatedAtMs);
      assert.equal(await store.people.assign(id + 1, ada), false);
      assert.equal(await store.people.changeTags(id + 1, { add: ['x'] }), false);
    });

    test('of tags that are added at a time none is lost', async () => {
      const { id } = await put(1);
      // again and again: the first ones wait for connections, and may come one after the other
      const rounds = Array.from({ length: 10 }, (_, round) => ['a', 'b', 'c'].map((tag) => tag + round));
      for (const tags of rounds)
        await Promise.all(tags.map((tag) => store.people.changeTags(id, { add: [tag] })));
      assert.deepEqual((await read(id)).tags, rounds.flat().toSorted());
    });

    test('a subscription has at most 32 tags', async () => {
      const tags = Array.from({ length: 32 }, (_, index) => `tag${String(index).padStart(2, '0')}`);
      const { id } = await put(1, { tags });
      await assert.rejects(store.people.changeTags(id, { add: ['more'] }), { code: 'ERR_FIELD_VALUE' });
      await refuses(store.people.assign(id, { tags: [...tags, 'more'] }), 'ERR_FIELD_VALUE');
      assert.deepEqual((await read(id)).tags, tags);
      assert.equal(await store.people.changeTags(id, { add: ['more'], remove: ['tag00'] }), true);
    });

    test('what is no user or no tag is refused, and a tag has one spelling', async () => {
      const { id } = await put(1, ada);
      const users = [{ user: '' }, { user: 'x'.repeat(129) }, { user: 'm\ufffdller' }];
      for (const change of [...users, { user: 'bob', tags: ['a b'] }]) {
        await assert.rejects(store.people.assign(id, change), { code: 'ERR_FIELD_VALUE' });
        await assert.rejects(put(1, change), { code: 'ERR_FIELD_VALUE' });
      }
      for (const change of [{ add: ['a,b'] }, { add: ['x'], remove: ['-beta'] }])
        await assert.rejects(store.people.changeTags(id, change), { code: 'ERR_FIELD_VALUE' });
      assert.deepEqual(await read(id), ada);
      await store.people.changeTags(id, { add: ['cafe\u0301'] });
      assert.deepEqual((await read(id)).tags, ['beta', 'caf\u00e9', 'de']);
      await store.people.changeTags(id, { remove: ['cafe\u0301', 'de'] });
      assert.deepEqual((await read(id)).tags, ['beta']);
      await store.people.assign(id, { tags: [...ada.tags, 'U\u0308ber'] });
      assert.deepEqual(await read(id), { user: 'ada', tags: [...ada.tags, '\u00dcber'] });
    });

    test('a mark as gone stays when the user changes', async () => {
      const { endpoint: firstEndpoint } = await put(1, ada);
      // with others that are gone, none is deleted at once
      await addSubscriptions(store, 30, 100);
      for (const row of await store.subscriptions.page({ afterId: 0, limit: 100 })) {
        await recordAnswer(store, row, 'gone', origin);
      }
      const held = (await store.heldDeletions.list())[0]?.subscriptions;
      const last = (await store.subscriptions.page({ afterId: 0, limit: 100 })).at(-1)!;
      await store.people.assign(last.id, ada);
      assert.equal((await store.heldDeletions.list())[0]?.subscriptions, held);
      await store.subscriptions.put(last, vapidPublicKey);
      assert.equal((await store.heldDeletions.list())[0]?.subscriptions, held! - 1);
      assert.deepEqual(
        (await store.ended.list(1)).map(({ endpoint, user }) => ({ endpoint, user })),
        [{ endpoint: firstEndpoint, user: 'ada' }],
      );
    });

    test('tags are counted', async () => {
      await put(1, ada);
      const { id } = await put(2, { tags: ['de'] });
      assert.deepEqual(await store.people.countTags(), [
        { tag: 'beta', subscriptions: 1 },
        { tag: 'de', subscriptions: 2 },
      ]);
      await store.subscriptions.removeById(id);
      await store.people.assign(id - 1, { tags: [] });
      assert.deepEqual(await store.people.countTags(), []);
    });

    test('a sample has all subscriptions if they are few', async () => {
      assert.deepEqual(await store.people.sample(10), { subscriptions: 0, isWhole: true, windows: [[]] });
      await put(1, ada);
      const { id, endpoint } = await put(2);
      await store.subscriptions.removeById(id - 1);
      const row = { id, endpoint, user: null, tags: [], weight: 1 };
      assert.deepEqual(await store.people.sample(10), {
        subscriptions: 1,
        isWhole: true,
        windows: [[row]],
      });
    });
  });

  describe('removing a person', () => {
    test('what is not there is not removed', async () => {
      await put(1, ada);
      for (const other of ['ad', 'Ada']) {
        assert.deepEqual(await store.people.remove(other), nothingRemoved);
      }
      assert.equal(await store.subscriptions.count(), 1);
    });

    test('subscriptions, attempts, places in lists and own broadcasts are deleted, and counted', async () => {
      const first = await put(1, ada);
      const second = await put(2, { user: 'ada' });
      const other = await put(3, { user: 'bob', tags: ['de'] });
      const { broadcast: toList } = await createBroadcast(await openList(store, [2, 3]));
      const { broadcast: toIds } = await createBroadcast(await openIds(store, [first.id, other.id]));
      const { broadcast: toAll } = await createBroadcast(undefined);
      const toAda = await createMatching(
        store,
        { user: 'ada' },
        madeUpBroadcast(nowMs, { user: 'ada', receiptActions: [] }),
      );
      for (const { id } of [toList, toIds, toAll, toAda]) await settle(id, 'accepted');
      await store.receipts.add(
        [first.id, other.id].map((subscriptionId) => ({
          broadcastId: toAll.id,
          subscriptionId,
          event: 'shown',
        })),
      );

      for (const user of ['ada', 'bob']) {
        await store.schedules.add(madeUpSchedule({ audience: { user } }));
      }

      assert.deepEqual(await store.people.remove('ada'), {
        ...nothingRemoved,
        subscriptions: 2,
        broadcasts: 1,
        schedules: 1,
        recipients: 4,
        // the recipient of the list that is not known by its id leaves none
        attempts: 5,
        receipts: 1,
      });
      assert.equal(await store.subscriptions.findById(first.id), undefined);
      assert.equal(await store.subscriptions.findById(second.id), undefined);
      assert.equal(await store.broadcasts.find(toAda.id), undefined);
      const schedules = await store.schedules.list();
      assert.deepEqual(pluck(schedules, 'audience'), [{ user: 'bob' }]);
      for (const { id: broadcastId } of [toIds, toAll]) {
        const left = await store.attempts.list({ broadcastId, limit: 100 });
        assert.deepEqual(pluck(left, 'subscriptionId'), [other.id]);
      }
      assert.deepEqual(await read(other.id), { user: 'bob', tags: ['de'] });
      assert.equal((await store.broadcasts.find(toList.id))?.counts.accepted, 2, 'counts stay');
    });

    test('a broadcast that waited for this person only is done, and its counts add up', async () => {
      await put(1, ada);
      const { broadcast } = await createBroadcast(undefined);
      await settle(broadcast.id, 'retry');
      assert.equal((await store.broadcasts.find(broadcast.id))?.waiting, 1);
      await store.people.remove('ada');
      const after = await store.broadcasts.find(broadcast.id);
      assert.equal(after?.state, 'done');
      assert.equal(after?.counts.removed, 1);
    });

    test('a running broadcast to this person alone is gone, and holds up the retries of no other', async () => {
      await put(1, ada);
      await put(2, { user: 'bob' });
      const { broadcast } = await createBroadcast(undefined);
      await commitSlices(store, broadcast.id, withRetry(origin, nowMs));
      await createMatching(store, { user: 'ada' }, madeUpBroadcast(nowMs - 1000, { user: 'ada' }));
      await store.people.remove('ada');
      const lease = await store.leases.leaseRetries({ leaseMs: 1000, limit: 10 });
      assert.deepEqual([lease?.broadcastId, lease?.rows.length], [broadcast.id, 1]);
    });
  });
});

describe(`expressions of user and tags: ${databaseName()}`, () => {
  const nowMs = 1_800_000_000_000;
  // one store for all: rows take their time
  const store = openForSuite(() => nowMs);
  const tagNames = ['even', 'three', 'five', 'rare'];
  let rows: readonly StoredSubscription[];

  before(async () => {
    await addSubscriptions(store, 2500, 0, (index) => ({
      // upper and lower case are two persons
      assign: { user: `${index % 70 === 3 ? 'P' : 'p'}erson${index % 7}`, tags: tagsOf(index) },
    }));
    rows = await store.subscriptions.page({ afterId: 0, limit: 5000 });
  });

  const listIds = async (matching: AudienceExpression, limit: number): Promise<number[]> => {
    const ids: number[] = [];
    for (let afterId = 0; ; afterId = ids.at(-1)!) {
      const page = await store.subscriptions.page({ afterId, limit, matching });
      if (page.length === 0) return ids;
      ids.push(...page.map(({ id }) => id));
    }
  };

  const audienceIds = async (expression: AudienceExpression): Promise<(number | undefined)[]> => {
    const broadcast = await createMatching(store, expression, madeUpBroadcast(nowMs));
    const ids: (number | undefined)[] = [];
    for (const lease of await leaseSlices(store, broadcast.id)) {
      const recipients = await store.ledger.readRows(lease, lease.cursor, 10_000);
      ids.push(...recipients.map(({ subscriptionId }) => subscriptionId));
    }
    assert.equal(broadcast.recipients, ids.length);
    return ids.sort((one, other) => Number(one) - Number(other));
  };

  /** The same, told by looking at every row. */
  const expected = ({ user, tags: { all = [], any = [], none = [] } = {} }: AudienceExpression) =>
    rows
      .filter(
        (row) =>
          (user === undefined || row.user === user) &&
          all.every((tag) => row.tags.includes(tag)) &&
          (any.length === 0 || any.some((tag) => row.tags.includes(tag))) &&
          !none.some((tag) => row.tags.includes(tag)),
      )
      .map(({ id }) => id);

  const expressions: readonly AudienceExpression[] = [
    { user: 'person3' },
    { user: 'person6', tags: { all: ['even', 'three'] } },
    { user: 'person6', tags: { any: ['five', 'rare'] } },
    { user: 'person6', tags: { none: ['even'] } },
    { user: 'person6', tags: { all: ['even'], any: ['three', 'rare'], none: ['five'] } },
    { user: 'nobody' },
    { tags: { all: ['even'] } },
    { tags: { all: ['even', 'rare', 'three'] } },
    { tags: { all: ['even', 'three', 'five'] } },
    { tags: { all: ['even', 'unknown'] } },
    { tags: { any: ['three', 'five'] } },
    { tags: { any: tagNames, none: ['even', 'rare'] } },
    { tags: { any: ['rare', 'unknown'] } },
    { tags: { none: ['even', 'three'] } },
    { tags: { all: ['even'], any: ['three', 'rare'], none: ['five'] } },
  ];
  for (const expression of expressions) {
    test(`${JSON.stringify(expression)} gives each of its subscriptions once`, async () => {
      const checked = checkExpression(expression);
      assert.deepEqual(await listIds(checked, 700), expected(expression));
      assert.deepEqual(await audienceIds(checked), expected(expression));
    });
  }

  test('a page ends at its last id and at its limit', async () => {
    const matching = { tags: { all: ['even'] } };
    const ids = expected(matching);
    const page = await store.subscriptions.page({
      afterId: ids[9]!,
      throughId: ids[14]! + 1,
      limit: 100,
      matching,
    });
    assert.deepEqual(pluck(page, 'id'), ids.slice(10, 15));
    assert.equal((await store.subscriptions.page({ afterId: 0, limit: 3, matching })).length, 3);
  });

  test('an audience that is written in several ranges has each subscription once', async () => {
    await addSubscriptions(store, 10_500, 3000, () => ({ assign: { tags: ['many'] } }));
    const ids = await audienceIds({ tags: { all: ['many'] } });
    assert.equal(ids.length, 10_500);
    assert.equal(new Set(ids).size, 10_500);
  });

  test('an audience is fixed when it is written: tags that change later change nothing', async () => {
    const broadcast = await createMatching(
      store,
      { tags: { all: ['rare'] } },
      madeUpBroadcast(nowMs, { sliceRows: 1000 }),
    );
    const ids = expected({ tags: { all: ['rare'] } });
    await store.people.changeTags(ids[0]!, { remove: ['rare'] });
    await store.people.changeTags(ids[0]! + 1, { add: ['rare'] });
    const recipients = await store.ledger.readRows(await leaseNext(store, broadcast.id), 0, 100);
    assert.deepEqual(pluck(recipients, 'subscriptionId'), ids);
  });
});
