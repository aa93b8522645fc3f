// POST /webPush/receipts: what browsers report counts once, and what nobody was sent changes nothing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createReceiptTokens } from '../../src/protocol/message/receipt-token.ts';
import type { ReceiptEvent } from '../../src/store/receipts.ts';
import { until } from '../../tools/until.ts';
import { openTestStore } from '../store/test-database.ts';
import { newSubscription, sendJson, startService, startServiceForSuite } from './running-service.ts';

const receiptKey = randomBytes(32);
const longAction = 'action '.repeat(50);

describe('the service with receipts', () => {
  const service = startServiceForSuite({ receiptKey, receiptsPerMinute: 'off' });
  let broadcastId: number;
  let subscriptionIds: readonly number[];

  before(async () => {
    for (let count = 0; count < 3; count += 1) {
      await sendJson(service.base, 'POST', '/webPush', newSubscription());
    }
    const rows = await service.store.subscriptions.page({ afterId: 0, limit: 10 });
    subscriptionIds = rows.map(({ id }) => id);
    const { broadcast } = await service.store.broadcasts.create({
      contentHash: new Uint8Array(32),
      payload: Buffer.from('{"title":"t","message":"m"}'),
      ttlSeconds: 60,
      urgency: 'normal',
      startAtMs: Date.now(),
      expiresAtMs: Date.now() + 3_600_000,
      sliceRows: 100,
      receiptActions: ['open', longAction],
    });
    broadcastId = broadcast.id;
  });

  const report = (receipts: unknown) => sendJson(service.base, 'POST', '/webPush/receipts', { receipts });
  const tokenOf = (index: number, key: Uint8Array = receiptKey) =>
    createReceiptTokens(key)({ broadcastId, subscriptionId: subscriptionIds[index]! });
  const totals = async () => {
    const [counts] = (await service.store.broadcasts.find(broadcastId))!.receipts!;
    const { shown, clicked, dismissed } = counts ?? { shown: 0, clicked: 0, dismissed: 0 };
    return { shown, clicked, dismissed };
  };

  test('counts what was reported, before its message is known to be accepted, and each of it once', async () => {
    for (let times = 0; times < 2; times += 1) {
      const response = await report([
        { token: tokenOf(0), event: 'shown' },
        { token: tokenOf(1), event: 'shown' },
        { token: tokenOf(0), event: 'clicked', action: 'open' },
        { token: tokenOf(1), event: 'clicked', action: longAction },
        { token: tokenOf(1), event: 'dismissed' },
      ]);
      assert.equal(response.status, 204);
      assert.equal(await response.text(), '');
      assert.deepEqual(await totals(), { shown: 2, clicked: 2, dismissed: 1 });
    }
    const [counts] = (await service.store.broadcasts.find(broadcastId))!.receipts!;
    assert.deepEqual({ ...counts!.actions }, { open: 1, [longAction]: 1 });
  });

  test('10,000 forged receipts change no count', async () => {
    const earlier = await totals();
    const events: readonly ReceiptEvent[] = ['shown', 'clicked', 'dismissed'];
    const forgers: readonly (() => string)[] = [
      () => randomBytes(28).toString('base64url'),
      () => tokenOf(2, randomBytes(32)),
      // the ids of one row with the proof of another
      () => tokenOf(2).slice(0, 16) + tokenOf(0).slice(16),
      () => tokenOf(2).slice(0, 16) + randomBytes(17).toString('base64url').slice(0, 22),
    ];
    for (let request = 0; request < 100; request += 1) {
      const receipts = Array.from({ length: 100 }, (_, index) => ({
        token: forgers[index % forgers.length]!(),
        event: events[index % events.length]!,
      }));
      assert.equal((await report(receipts)).status, 204);
    }
    assert.deepEqual(await totals(), earlier);
    const tokens = [forgers[0]!(), tokenOf(2), forgers[1]!()];
    await report(tokens.map((token) => ({ token, event: 'shown' })));
    assert.deepEqual(await totals(), { ...earlier, shown: earlier.shown + 1 }, 'the row itself still counts');
  });

  test('a body that is none of receipts is a 400, and nothing of it counts', async () => {
    const earlier = await totals();
    const good = { token: tokenOf(2), event: 'clicked' };
    for (const receipts of [
      [good, { ...good, event: 'read' }],
      [good, { ...good, token: 'short' }],
      [good, { event: 'shown' }],
      [good, { ...good, action: 7 }],
      Array.from({ length: 101 }, () => good),
    ]) {
      assert.equal((await report(receipts)).status, 400);
    }
    assert.equal((await sendJson(service.base, 'POST', '/webPush/receipts', {})).status, 400);
    assert.deepEqual(await totals(), earlier);
  });
});

test('one client address may report so many times a minute; registrations have a limit of their own', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const service = await startService({ receiptKey, receiptsPerMinute: 2, registrationsPerMinute: 1 }, t);
  const report = () => sendJson(service.base, 'POST', '/webPush/receipts', { receipts: [] });
  assert.deepEqual([(await report()).status, (await report()).status], [204, 204]);
  const refused = await report();
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '60');
  assert.match(await refused.text(), /may report 2 times a minute/);
  assert.equal((await sendJson(service.base, 'POST', '/webPush', newSubscription())).status, 200);
  assert.match(
    await (await sendJson(service.base, 'POST', '/webPush', newSubscription())).text(),
    /may register 1 /,
  );
  t.mock.timers.tick(59_999);
  assert.equal((await report()).status, 429);
  t.mock.timers.tick(1);
  assert.equal((await report()).status, 204);
});

test('what cannot be stored is a 503, so that browsers keep it', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const fault = new DeskbellError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
  const receipts = { ...store.receipts, add: () => Promise.reject(fault) };
  const { base } = await startService({ receiptKey, store: { ...store, receipts } }, t);
  const token = createReceiptTokens(receiptKey)({ broadcastId: 1, subscriptionId: 1 });
  const body = { receipts: [{ token, event: 'shown' }] };
  assert.equal((await sendJson(base, 'POST', '/webPush/receipts', body)).status, 503);
});

test('who reported is forgotten when the service starts and each hour, in steps', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const hourMs = 3_600_000;
  t.mock.timers.enable({ apis: ['setInterval'] });
  /** Whether there is more, of each step. */
  const steps: boolean[] = [];
  const prune = async (): Promise<boolean> => {
    steps.push(steps.length % 2 === 0);
    return steps.at(-1)!;
  };
  const receipts = { ...store.receipts, prune };
  const { app } = await startService({ receiptKey, store: { ...store, receipts } }, t);
  await until(() => steps.length === 2, 'the steps of the start');
  for (const count of [4, 6]) {
    t.mock.timers.tick(hourMs - 1);
    assert.equal(steps.length, count - 2);
    t.mock.timers.tick(1);
    await until(() => steps.length === count, 'the steps of an hour later');
  }
  await app.close();
  t.mock.timers.tick(hourMs);
  assert.equal(steps.length, 6);
});
