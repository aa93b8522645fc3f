// What every store must do for receipts, whatever database is behind it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { receiptWindowMs, type Receipt } from '../../src/store/receipts.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { madeUpBroadcast, openForSuite } from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const fcm = 'https://fcm.googleapis.com';
const own = 'https://push.example.org:8443';

describe(`receipts: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  let subscriptions = 0;
  const store = openForSuite(() => nowMs);

  const subscribe = async (origin = fcm): Promise<number> => {
    const subscription = madeUpSubscription((subscriptions += 1));
    const endpoint = `${origin}/fcm/send/${subscriptions}`;
    return (await store.subscriptions.put({ ...subscription, endpoint }, vapidPublicKey)).id;
  };

  const createBroadcast = async (receiptActions?: readonly string[], startAtMs = nowMs): Promise<number> =>
    (await store.broadcasts.create(madeUpBroadcast(startAtMs, { receiptActions }))).broadcast.id;

  const countsOf = async (id: number) => (await store.broadcasts.find(id))?.receipts;

  test('a broadcast counts what was reported, by push service and by action', async () => {
    const [one, two, three] = [await subscribe(), await subscribe(), await subscribe(own)];
    const broadcastId = await createBroadcast(['open', 'later']);
    assert.deepEqual(await countsOf(broadcastId), []);
    const receipts: readonly Receipt[] = [
      { broadcastId, subscriptionId: one, event: 'shown' },
      { broadcastId, subscriptionId: two, event: 'shown' },
      { broadcastId, subscriptionId: three, event: 'shown' },
      { broadcastId, subscriptionId: one, event: 'clicked', action: 'later' },
      { broadcastId, subscriptionId: two, event: 'clicked' },
      // only a click is on an action
      { broadcastId, subscriptionId: three, event: 'dismissed', action: 'open' },
    ];
    assert.equal(await store.receipts.add(receipts), 6);
    assert.deepEqual(await countsOf(broadcastId), [
      { origin: fcm, shown: 2, clicked: 2, dismissed: 0, actions: { later: 1 } },
      { origin: own, shown: 1, clicked: 0, dismissed: 1, actions: {} },
    ]);
    // several at a time are added to what there is
    const [four, five] = [await subscribe(), await subscribe()];
    const later: readonly Receipt[] = [
      { broadcastId, subscriptionId: four, event: 'clicked', action: 'later' },
      { broadcastId, subscriptionId: five, event: 'clicked', action: 'later' },
      { broadcastId, subscriptionId: one, event: 'dismissed' },
      { broadcastId, subscriptionId: two, event: 'dismissed' },
    ];
    assert.equal(await store.receipts.add(later), 4);
    const [ofFcm] = (await countsOf(broadcastId)) ?? [];
    assert.deepEqual(ofFcm, { origin: fcm, shown: 2, clicked: 4, dismissed: 2, actions: { later: 3 } });
  });

  test('a receipt counts once, in one call or in several', async () => {
    const subscriptionId = await subscribe();
    const broadcastId = await createBroadcast(['open', 'later']);
    const click: Receipt = { broadcastId, subscriptionId, event: 'clicked', action: 'open' };
    assert.equal(await store.receipts.add([click, click, { ...click, action: 'later' }]), 1);
    assert.equal(await store.receipts.add([click]), 0);
    assert.deepEqual(await countsOf(broadcastId), [
      { origin: fcm, shown: 0, clicked: 1, dismissed: 0, actions: { open: 1 } },
    ]);
  });

  test('an action that the message does not have is a click beside all actions', async () => {
    const broadcastId = await createBroadcast(['open']);
    for (const action of ['other', '', 'constructor', 'a\0b', 'open'.repeat(500)]) {
      const subscriptionId = await subscribe();
      assert.equal(await store.receipts.add([{ broadcastId, subscriptionId, event: 'clicked', action }]), 1);
    }
    assert.deepEqual(await countsOf(broadcastId), [
      { origin: fcm, shown: 0, clicked: 5, dismissed: 0, actions: {} },
    ]);
  });

  test('what no broadcast asks for or no stored subscription reports is not counted', async () => {
    const subscriptionId = await subscribe();
    const silent = await createBroadcast();
    const broadcastId = await createBroadcast([]);
    const event = 'shown';
    const receipts: readonly Receipt[] = [
      { broadcastId: silent, subscriptionId, event },
      { broadcastId: broadcastId + 1000, subscriptionId, event },
      { broadcastId, subscriptionId: subscriptionId + 1000, event },
    ];
    assert.equal(await store.receipts.add(receipts), 0);
    assert.equal(await countsOf(silent), undefined);
    assert.deepEqual(await countsOf(broadcastId), []);
  });

  test('the window is open for 30 days from the start of the broadcast', async () => {
    const subscriptionId = await subscribe();
    // one that is late starts when it is made
    const madeAtMs = nowMs;
    const overdue = await createBroadcast([], madeAtMs - 86_400_000);
    nowMs += receiptWindowMs - 1;
    assert.equal(await store.receipts.add([{ broadcastId: overdue, subscriptionId, event: 'shown' }]), 1);
    nowMs = madeAtMs;
    const startAtMs = nowMs + 86_400_000;
    const broadcastId = await createBroadcast([], startAtMs);
    nowMs = startAtMs + receiptWindowMs - 1;
    await store.receipts.prune();
    assert.equal(await store.receipts.add([{ broadcastId, subscriptionId, event: 'shown' }]), 1);
    nowMs += 1;
    const late: Receipt = { broadcastId, subscriptionId, event: 'clicked' };
    assert.equal(await store.receipts.add([late]), 0);
    // The broadcasts of other tests are over as well.
    while (await store.receipts.prune());
    // It is over even by a clock that is behind: what was counted is no longer known by subscription.
    nowMs -= 1;
    assert.equal(await store.receipts.add([late, { ...late, event: 'shown' }]), 0);
    assert.equal((await countsOf(broadcastId))?.[0]?.shown, 1);
  });
});
