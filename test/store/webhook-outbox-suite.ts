// What every store must do for the operator's webhook: keep events from the moment that somebody asks for them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  commitNext,
  createMatching,
  madeUpBroadcast,
  openForEachTest,
  recordAnswer,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const origin = 'https://fcm.googleapis.com';
const other = 'https://updates.push.services.mozilla.com';
const leaseMs = 10_000;
const threeDaysMs = 3 * 24 * 60 * 60 * 1000;

describe(`webhook outbox: ${databaseName()}`, () => {
  let nowMs = Date.now();
  const store = openForEachTest(() => nowMs);

  const deliver = async () => {
    const { id } = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey, {
      assign: { user: 'ada' },
    });
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs));
    const alarm = { reason: 'vapid-refused', detail: 'BadJwtToken' };
    await commitNext(store, withResult(origin, 'gone', { alarm }));
    return { subscriptionId: id, broadcastId: broadcast.id };
  };
  const lease = () => store.webhooks.lease({ limit: 20, leaseMs });

  test('nothing is stored where nobody asks for it', async () => {
    await deliver();
    assert.equal((await store.webhooks.backlog()).waiting, 0);
  });

  test('nothing is stored any more once nobody has asked for it for a week', async () => {
    const weekMs = 7 * 24 * 60 * 60 * 1000;
    for (const [sinceMs, events] of [
      [weekMs + 60_000, 0],
      [weekMs - 3_600_000, 4],
    ] as const) {
      const then = Date.now();
      nowMs = then - sinceMs;
      await store.webhooks.watch();
      nowMs = then;
      await deliver();
      // to nobody, so that it is done at once
      await store.broadcasts.create(madeUpBroadcast(nowMs));
      assert.equal((await store.webhooks.backlog()).waiting, events);
    }
  });

  test('what ended, was done and was raised is leased once, and removed when it was delivered', async () => {
    await store.webhooks.watch();
    const { subscriptionId, broadcastId } = await deliver();
    const events = await lease();
    const common = { id: '', atMs: nowMs, attempts: 0 };
    assert.deepEqual(
      events
        .map((event) => ({ ...event, id: '' }))
        .toSorted((one, next) => one.type.localeCompare(next.type)),
      [
        {
          ...common,
          type: 'alarm',
          broadcastId,
          origin,
          reason: 'vapid-refused',
          detail: 'BadJwtToken',
          rows: 1,
        },
        { ...common, type: 'broadcast.done', broadcastId },
        { ...common, type: 'subscription.gone', subscriptionId, user: 'ada' },
      ],
    );
    assert.ok(events.every(({ id }) => /^[0-9a-f]{32}$/.test(id)));
    assert.deepEqual(await lease(), []);
    await store.webhooks.remove(events[0]!.id);
    await store.webhooks.postpone(events[1]!.id, 1000);
    nowMs += 1000;
    assert.deepEqual(pluck(await lease(), 'id', 'attempts'), [[events[1]!.id, 1]]);
    nowMs += leaseMs;
    assert.equal((await lease()).length, 2);
  });

  test('a person whom nothing reached is told of, after a broadcast to them or a single message', async () => {
    await store.webhooks.tellUnreached('ada');
    assert.equal((await store.webhooks.backlog()).waiting, 0, 'nobody asks for it');
    await store.webhooks.watch();
    const told: object[] = [];
    for (const [result, devices] of [
      ['accepted', 1],
      ['doubtful', 1],
      ['rejected', 1],
      ['gone', 1],
      ['accepted', 0],
    ] as const) {
      const matching = { user: `${result} ${devices}` };
      if (devices > 0)
        await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey, { assign: matching });
      const draft = madeUpBroadcast(nowMs, { user: matching.user });
      const { id: broadcastId, state } = await createMatching(store, matching, draft);
      if (state === 'running') {
        await commitNext(store, withResult(origin, result), broadcastId);
      }
      if (result !== 'doubtful' && (result !== 'accepted' || devices === 0))
        told.push({ ...matching, broadcastId });
    }
    await store.webhooks.tellUnreached('ada');
    const events = await lease();
    assert.deepEqual(
      events
        .flatMap((event) =>
          event.type === 'person.unreached' ? [{ user: event.user, broadcastId: event.broadcastId }] : [],
        )
        .toSorted((one, next) => (one.broadcastId ?? 99) - (next.broadcastId ?? 99)),
      [...told, { user: 'ada', broadcastId: undefined }],
    );
  });

  test('a broadcast that is cancelled is told of too, and an alarm of many rows once', async () => {
    for (const number of [1, 2, 3, 4])
      await store.subscriptions.put(madeUpSubscription(number), vapidPublicKey);
    await store.webhooks.watch();
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 1 }));
    for (const [from, reason] of [
      [origin, 'bad-request'],
      [origin, 'bad-request'],
      [other, 'bad-request'],
      [origin, 'payload-too-large'],
    ] as const) {
      const toRetry = withRetry(from, nowMs, { delayMs: leaseMs });
      await commitNext(store, (row) => ({ ...toRetry(row), alarm: { reason, detail: 'BadPath' } }));
    }
    assert.equal((await store.broadcasts.get(broadcast.id)).alarms[0]?.rows, 2);
    await store.broadcasts.cancel(broadcast.id);
    const events = await lease();
    assert.deepEqual(
      events
        .flatMap((event) => (event.type === 'alarm' ? [`${event.origin} ${event.reason}`] : []))
        .toSorted(),
      [`${origin} bad-request`, `${origin} payload-too-large`, `${other} bad-request`],
      'once for each push service and reason',
    );
    assert.equal(events.filter(({ type }) => type === 'broadcast.done').length, 1);
  });

  test('a subscription whose deletion is held is told of once that is confirmed, with its own user', async () => {
    await store.webhooks.watch();
    const users = new Map<number, string>();
    for (let number = 0; number < 30; number += 1) {
      const user = `user-${number}`;
      const row = await store.subscriptions.put(madeUpSubscription(number), vapidPublicKey, {
        assign: { user },
      });
      users.set(row.id, user);
      await recordAnswer(store, row, 'gone', origin);
    }
    const held = await store.subscriptions.count();
    assert.ok(held > 5);
    assert.equal((await store.webhooks.backlog()).waiting, 30 - held);
    await store.heldDeletions.confirm(origin);
    const told = await store.webhooks.lease({ limit: 100, leaseMs });
    assert.deepEqual(
      new Map(
        told.map((event) =>
          event.type === 'subscription.gone' ? [event.subscriptionId, event.user!] : [0, ''],
        ),
      ),
      users,
    );
  });

  test('a subscription that its user or an operator has removed is not told of', async () => {
    await store.webhooks.watch();
    for (const number of [1, 2]) await store.subscriptions.put(madeUpSubscription(number), vapidPublicKey);
    const [one, two] = await store.subscriptions.page({ afterId: 0, limit: 2 });
    await store.subscriptions.removeById(one!.id);
    await store.subscriptions.removeByEndpoint(two!.endpoint, two!.auth);
    assert.equal(await store.subscriptions.count(), 0);
    assert.equal((await store.webhooks.backlog()).waiting, 0);
  });

  test('what is three days old is dropped', async () => {
    await store.webhooks.watch();
    await deliver();
    const oldestAtMs = nowMs;
    // when an event is due again says nothing of its age
    assert.equal((await lease()).length, 3);
    nowMs += 1000;
    // to nobody, so that it is done at once
    await store.broadcasts.create(madeUpBroadcast(nowMs));
    assert.deepEqual(await store.webhooks.backlog(), { waiting: 4, oldestAtMs, dropped: 0 });
    nowMs = oldestAtMs + threeDaysMs;
    await store.webhooks.watch();
    assert.equal((await store.webhooks.backlog()).waiting, 4);
    nowMs += 1;
    await store.webhooks.watch();
    const rest = { waiting: 1, oldestAtMs: oldestAtMs + 1000, dropped: 3 };
    assert.deepEqual(await store.webhooks.backlog(), rest);
  });
});
