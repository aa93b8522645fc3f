// What every store must know of operators, of what they have changed, and of who sends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { generateOperatorToken, hashOperatorToken } from '../../src/keys/secret-files.ts';
import { keyLifetimeMs } from '../../src/store/message-requests.ts';
import { type AuditFilter, maxSessions } from '../../src/store/operators.ts';
import { reportLifetimeMs } from '../../src/store/sending.ts';
import { idlePushService, workerReport } from './made-up-subscription.ts';
import { openForEachTest } from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

/** 32 bytes. */
const nameOf = (number: number) => new Uint8Array(new Uint32Array(8).fill(number).buffer);

describe(`operators: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

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

  test('the key of a message is taken once, gives its answer to equal requests, and is free again after a day', async () => {
    const { messageRequests } = store;
    const content = nameOf(1);
    const inDoubt = { code: 'ERR_MESSAGE_IN_DOUBT' };
    let claims = 0;
    const asked = (key: string, contentHash: Uint8Array = content) => ({
      key,
      contentHash,
      claim: `claim ${(claims += 1)}`,
    });
    const begin = (key: string, contentHash?: Uint8Array) => messageRequests.begin(asked(key, contentHash));
    const first = asked('order-1');
    assert.equal(await messageRequests.begin(first), undefined);
    await assert.rejects(begin('order-1'), inDoubt);
    await messageRequests.finish(first, '[1]');
    assert.equal(await begin('order-1'), '[1]');
    await assert.rejects(begin('order-1', nameOf(2)), { code: 'ERR_IDEMPOTENCY_KEY' });

    const released = asked('order-2');
    assert.equal(await messageRequests.begin(released), undefined);
    await messageRequests.release(released);
    assert.equal(await begin('order-2'), undefined);
    // repeated because the answer was lost: the key is another's now
    await messageRequests.release(released);
    await assert.rejects(begin('order-2'), inDoubt);
    const five = await Promise.allSettled(Array.from({ length: 5 }, () => begin('order-3')));
    assert.equal(five.filter(({ status }) => status === 'fulfilled').length, 1);

    nowMs += keyLifetimeMs;
    await assert.rejects(begin('order-2'), inDoubt);
    nowMs += 1;
    assert.equal(await begin('order-1', nameOf(2)), undefined);
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
    assert.deepEqual(pluck(await store.operators.list(), 'name'), ['archive', 'shop']);
  });

  test('a session is its operator’s until it ends, its time is over, or the operator is removed', async () => {
    const { id } = await store.operators.add({ name: 'shop', role: 'full', ...generateOperatorToken() });
    const names = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte));
    const [first, second, third] = names as [Uint8Array, Uint8Array, Uint8Array];
    const start = (nameHash: Uint8Array) =>
      store.operators.startSession({ nameHash, operatorId: id, lifetimeMs: 60_000 });
    const find = async () =>
      Promise.all(names.map(async (nameHash) => (await store.operators.findBySession(nameHash))?.name));
    await start(first);
    nowMs += 1000;
    await start(second);
    assert.deepEqual(await find(), ['shop', 'shop', undefined]);
    nowMs += 59_000;
    assert.deepEqual(await find(), [undefined, 'shop', undefined]);
    await start(third);
    await store.operators.endSession(second);
    assert.deepEqual(await find(), [undefined, undefined, 'shop']);
    await store.operators.remove('shop');
    assert.deepEqual(await find(), [undefined, undefined, undefined]);
  });

  test('of very many sessions the oldest end', async () => {
    const { id } = await store.operators.add({ name: 'shop', role: 'full', ...generateOperatorToken() });
    const start = (number: number) =>
      store.operators.startSession({
        nameHash: nameOf(number),
        operatorId: id,
        lifetimeMs: 60_000 + number,
      });
    await Promise.all(Array.from({ length: maxSessions }, (_, number) => start(number)));
    await start(maxSessions);
    assert.equal(await store.operators.findBySession(nameOf(0)), undefined);
    assert.equal((await store.operators.findBySession(nameOf(1)))?.id, id);
  });

  test('audit records are listed by operator, action and time, page by page', async () => {
    const { audit } = store;
    const startMs = nowMs;
    // two in each millisecond
    for (let index = 0; index < 12; index += 1) {
      nowMs = startMs + Math.floor(index / 2);
      const action = index % 3 === 0 ? 'message.send' : 'broadcast.pause';
      await audit.begin({ operator: index < 8 ? 'shop' : 'ann', action, target: String(index) });
    }
    const read = async (filter: AuditFilter, limit: number) => {
      const pages: (string | undefined)[][] = [];
      for (let beforeId: number | undefined; ;) {
        const records = await audit.list({ ...filter, beforeId, limit });
        pages.push(records.map(({ target }) => target));
        beforeId = records.at(-1)?.id;
        if (records.length < limit) return pages;
      }
    };
    assert.deepEqual(await read({ operator: 'ann' }, 3), [['11', '10', '9'], ['8']]);
    assert.deepEqual(await read({ action: 'message.send' }, 3), [['9', '6', '3'], ['0']]);
    assert.deepEqual(await read({ operator: 'shop', action: 'message.send' }, 9), [['6', '3', '0']]);
    assert.deepEqual(await read({ sinceMs: startMs + 1, untilMs: startMs + 3 }, 3), [['5', '4', '3'], ['2']]);
    assert.deepEqual(await read({ sinceMs: startMs + 5 }, 9), [['11', '10']]);
    assert.deepEqual(await read({ operator: 'nobody' }, 9), [[]]);
  });

  test('text with NUL is refused, where it is stored and where it is looked for', async () => {
    const refused = { code: 'ERR_FIELD_VALUE', message: /"operator" has the character NUL/ };
    await assert.rejects(store.audit.begin({ operator: 'a\0b', action: 'broadcast.pause' }), refused);
    await assert.rejects(store.audit.list({ operator: 'a\0b', limit: 1 }), refused);
    assert.deepEqual(await store.audit.list({ limit: 1 }), []);
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
    const pushService = { ...idlePushService, inFlight: 2, latencyMs: 41.5, throttled: 1 };
    const report = { ...workerReport, startedAtMs: nowMs };
    await store.senders.put(report);
    await store.senders.put({ ...report, pushServices: [pushService] });
    nowMs += reportLifetimeMs;
    await store.senders.put({ ...report, id: 'two', startedAtMs: nowMs });
    const two = { ...report, id: 'two', startedAtMs: nowMs, seenAtMs: nowMs };
    assert.deepEqual(await store.senders.list(), [
      { ...report, pushServices: [pushService], seenAtMs: nowMs - reportLifetimeMs },
      two,
    ]);
    nowMs += 1;
    assert.deepEqual(await store.senders.list(), [two]);
    await store.senders.remove('two');
    assert.deepEqual(await store.senders.list(), []);
  });
});
