// What every store must know of operators, of what they have changed, and of who sends.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { generateOperatorToken, hashOperatorToken } from '../../src/keys/operator-token.ts';
import { reportLifetimeMs } from '../../src/store/senders.ts';
import type { Store } from '../../src/store/store.ts';
import type { StoreUnderTest } from './store-under-test.ts';

export function describeOperators(name: string, prepare: () => Promise<StoreUnderTest>): void {
  describe(`operators: ${name}`, () => {
    let underTest: StoreUnderTest;
    let store: Store;
    let nowMs = 1_800_000_000_000;

    beforeEach(async () => {
      underTest = await prepare();
      store = await underTest.open(() => nowMs);
    });
    afterEach(async () => {
      await store.close();
      await underTest.remove();
    });

    test('an operator is found by the hash of its token until it is removed', async () => {
      const { token, tokenHash } = generateOperatorToken();
      const added = await store.operators.add({ name: 'shop', role: 'read', tokenHash });
      assert.deepEqual(added, { id: added.id, name: 'shop', role: 'read', createdAtMs: nowMs });
      assert.deepEqual(await store.operators.findByToken(hashOperatorToken(token)), added);
      assert.deepEqual(await store.operators.findById(added.id), added);
      assert.equal(await store.operators.findByToken(hashOperatorToken(`${token}x`)), undefined);
      assert.equal(await store.operators.remove('shop'), true);
      assert.equal(await store.operators.remove('shop'), false);
      assert.equal(await store.operators.findByToken(tokenHash), undefined);
      assert.equal(await store.operators.findById(added.id), undefined);
    });

    test('a name is taken once, and an id is never used again', async () => {
      const first = await store.operators.add({ name: 'shop', role: 'full', ...generateOperatorToken() });
      await assert.rejects(store.operators.add({ name: 'shop', role: 'full', ...generateOperatorToken() }), {
        code: 'ERR_OPERATOR_EXISTS',
      });
      await store.operators.remove('shop');
      const second = await store.operators.add({ name: 'shop', role: 'full', ...generateOperatorToken() });
      assert.notEqual(second.id, first.id);
      await store.operators.add({ name: 'archive', role: 'metrics', ...generateOperatorToken() });
      assert.deepEqual(
        (await store.operators.list()).map((operator) => operator.name),
        ['archive', 'shop'],
      );
    });

    test('an audit record is there before its change, and is completed after it', async () => {
      const first = await store.audit.begin({ operator: 'shop', action: 'broadcast.create' });
      const record = { id: first, atMs: nowMs, operator: 'shop', action: 'broadcast.create' };
      assert.deepEqual(await store.audit.list({ limit: 10 }), [
        { ...record, target: undefined, status: undefined },
      ]);
      await store.audit.finish(first, { status: 201, target: 'broadcast 7' });
      nowMs += 1000;
      const second = await store.audit.begin({
        operator: 'shop',
        action: 'broadcast.pause',
        target: 'broadcast 7',
      });
      await store.audit.finish(second, { status: 409 });
      const [newest, oldest] = await store.audit.list({ limit: 10 });
      assert.deepEqual(oldest, { ...record, target: 'broadcast 7', status: 201 });
      assert.deepEqual(newest, {
        id: second,
        atMs: nowMs,
        operator: 'shop',
        action: 'broadcast.pause',
        target: 'broadcast 7',
        status: 409,
      });
      assert.deepEqual(await store.audit.list({ beforeId: second, limit: 10 }), [oldest]);
      assert.deepEqual(await store.audit.list({ limit: 1 }), [newest]);
    });

    test('the report of a sender is replaced, and forgotten when the sender is silent or takes it back', async () => {
      const pushService = {
        origin: 'https://fcm.googleapis.com',
        connections: 1,
        inFlight: 2,
        queued: 0,
        maxInFlight: 100,
        latencyMs: 41.5,
        answers: 10,
        throttled: 1,
        breaker: 'closed',
      } as const;
      const report = { machine: 'push-1', processId: 7, kind: 'worker', startedAtMs: nowMs } as const;
      await store.senders.put({ ...report, id: 'one', pushServices: [] });
      await store.senders.put({ ...report, id: 'one', pushServices: [pushService] });
      nowMs += reportLifetimeMs;
      await store.senders.put({ ...report, id: 'two', startedAtMs: nowMs, pushServices: [] });
      const two = { ...report, id: 'two', startedAtMs: nowMs, pushServices: [], seenAtMs: nowMs };
      assert.deepEqual(await store.senders.list(), [
        { ...report, id: 'one', pushServices: [pushService], seenAtMs: nowMs - reportLifetimeMs },
        two,
      ]);
      nowMs += 1;
      assert.deepEqual(await store.senders.list(), [two]);
      await store.senders.remove('two');
      assert.deepEqual(await store.senders.list(), []);
    });
  });
}
