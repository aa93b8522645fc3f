// Broadcasts that ask for receipts: each row has a payload of its own, with a token that names it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { createUserAgent } from '../../src/push-service/index.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { createReceiptTokenReader, receiptMemberBytes } from '../../src/protocol/message/receipt-token.ts';
import { maxPlaintextBytes } from '../../src/protocol/message-encryption.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import {
  assertDone,
  deliver,
  message,
  openBroadcastBench,
  startWork,
  untilDone,
  vapidKeys,
  withSlices,
  type BroadcastBench,
} from './broadcast-bench.ts';
import { pluck } from '../../tools/pluck.ts';

const receiptKey = randomBytes(32);
const readToken = createReceiptTokenReader(receiptKey);

/** A message whose payload has so many bytes. */
const fill = (bytes: number) => {
  const frame = JSON.stringify({ title: 'T', message: '' }).length;
  return { title: 'T', message: 'm'.repeat(bytes - frame) };
};

/** A push service with a user agent. `subscribe` stores a subscription of it and returns the id. */
async function startUserAgent({ store, startPushService }: BroadcastBench) {
  const pushService = await startPushService({ checksBodies: true });
  const userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  const policy = createEndpointPolicy([pushService.origin]);
  const { publicKey: vapidPublicKey } = vapidKeys;
  const subscribe = async (language?: string) => {
    const subscription = parseSubscription(await userAgent.subscribe(vapidPublicKey), policy);
    await store.subscriptions.putAll([{ subscription, vapidPublicKey, language }]);
    return (await store.subscriptions.findByEndpoint(subscription.endpoint))!.id;
  };
  return { pushService, userAgent, subscribe, [Symbol.asyncDispose]: () => userAgent.close() };
}

describe('a broadcast with receipts', () => {
  test('gives each stored row a token of its own, on its first attempt and on a repeated one', async () => {
    await using bench = await openBroadcastBench();
    await using stage = await startUserAgent(bench);
    const { pushService, userAgent, subscribe } = stage;
    const ids = [await subscribe(), await subscribe()];
    const sender = bench.createSender({ receiptKey, threads: 0 });
    pushService.faults.inject({ kind: 'status', status: 503, times: 1 });
    const actions = [{ title: 'Open' }, { title: 'Later', action: 'later' }];
    const run = await sender.broadcast('all', { ...message, actions }, { receipts: true });
    const broadcastId = run.broadcast.id;
    assertDone(await run.finished, { accepted: 2 });

    const received: number[] = [];
    for (let count = 0; count < 2; count += 1) {
      const { receipt, ...members } = (await userAgent.nextMessage()).json() as { receipt: string };
      assert.deepEqual(Object.keys(members), ['title', 'message', 'actions']);
      const subject = readToken(receipt);
      assert.equal(subject?.broadcastId, broadcastId);
      received.push(subject.subscriptionId);
    }
    assert.deepEqual(received.toSorted(), ids);

    for (const action of ['0', 'later']) {
      const subscriptionId = ids[action === '0' ? 0 : 1]!;
      await bench.store.receipts.add([{ broadcastId, subscriptionId, event: 'clicked', action }]);
    }
    const [counts] = (await bench.store.broadcasts.find(broadcastId))!.receipts!;
    assert.deepEqual({ ...counts!.actions }, { 0: 1, later: 1 });

    const silent = await sender.broadcast('all', message);
    assertDone(await silent.finished, { accepted: 2 });
    assert.deepEqual((await userAgent.nextMessage()).json(), message, 'none where it does not ask');
  });

  test('gives each row its token in the text that is for its reader, and counts what each of them reports', async () => {
    await using bench = await openBroadcastBench();
    const { people, readers, receipts, broadcasts } = bench.store;
    await using stage = await startUserAgent(bench);
    const { userAgent, subscribe } = stage;
    /** What each of them should see, by subscription. */
    const expected = new Map<number, string>();
    for (const [name, language, title] of [
      ['Ada', 'de-AT', 'Hallo Ada'],
      [undefined, 'de', 'Hallo du'],
      ['Eve', 'fr', 'Hello Eve'],
      [undefined, undefined, 'Hello there'],
    ] as const) {
      const id = await subscribe(language);
      expected.set(id, title);
      if (name === undefined) continue;
      await people.assign(id, { user: name, tags: [] });
      await readers.setPerson(name, { data: { name } });
    }
    const run = await bench.createSender({ receiptKey, threads: 0 }).broadcast(
      'all',
      {
        ...message,
        title: 'Hello {name|there}',
        placeholders: true,
        texts: { de: { title: 'Hallo {name|du}' } },
      },
      { receipts: true },
    );
    const broadcastId = run.broadcast.id;
    assertDone(await run.finished, { accepted: 4 });

    const shown = new Map<number, string>();
    for (let count = 0; count < 4; count += 1) {
      const { title, receipt } = (await userAgent.nextMessage()).json() as Record<
        'title' | 'receipt',
        string
      >;
      const subject = readToken(receipt);
      assert.equal(subject?.broadcastId, broadcastId);
      shown.set(subject.subscriptionId, title);
      await receipts.add([{ ...subject, event: 'shown' }]);
    }
    assert.deepEqual(new Map([...shown].toSorted(([one], [other]) => one - other)), expected);
    const { receipts: counted, texts } = (await broadcasts.find(broadcastId))!;
    assert.deepEqual(pluck(counted!, 'shown'), [4]);
    assert.deepEqual(texts, [{ language: 'de', recipients: 2 }]);
  });

  test('is refused when it is created, where its token would not fit', async () => {
    await using bench = await openBroadcastBench();
    await using stage = await startUserAgent(bench);
    const { userAgent, subscribe } = stage;
    await subscribe();
    const sender = bench.createSender({ receiptKey, threads: 0 });

    const whole = maxPlaintextBytes;
    const largest = whole - receiptMemberBytes;
    for (const bytes of [largest + 1, whole]) {
      const refusal = { code: 'ERR_PAYLOAD_TOO_LARGE' };
      await assert.rejects(sender.createBroadcast('all', fill(bytes), { receipts: true }), refusal);
      const schedule = { cron: '0 9 * * *', receipts: true };
      await assert.rejects(sender.createSchedule('all', fill(bytes), schedule), refusal);
    }
    assert.deepEqual(await bench.store.broadcasts.list({ limit: 1 }), []);

    const run = await sender.broadcast('all', fill(largest), { receipts: true });
    assertDone(await run.finished, { accepted: 1 });
    assert.equal((await userAgent.nextMessage()).data?.length, whole);
    const silent = await sender.broadcast('all', fill(whole));
    assertDone(await silent.finished, { accepted: 1 });
  });

  test('to a list that is not stored has no tokens: there is nobody to count', async () => {
    await using bench = await openBroadcastBench();
    await using stage = await startUserAgent(bench);
    const { userAgent } = stage;
    const subscription = await userAgent.subscribe(vapidKeys.publicKey);
    const sender = bench.createSender({ receiptKey, threads: 0 });
    const run = await sender.broadcast({ subscriptions: [subscription] }, message, { receipts: true });
    assertDone(await run.finished, { accepted: 1 });
    assert.deepEqual((await userAgent.nextMessage()).json(), message);
    const filled = { ...message, title: 'Hello {name|there}', placeholders: true };
    await sender.broadcast({ subscriptions: [subscription] }, filled, { receipts: true });
    assert.deepEqual((await userAgent.nextMessage()).json(), { ...message, title: 'Hello there' });
  });

  test('is delivered by threads, which have the key', async () => {
    await using bench = await openBroadcastBench({ rows: 60 });
    const warnings: string[] = [];
    const onWarning = (warning: string): void => void warnings.push(warning);
    const sender = bench.createSender({ receiptKey, threads: 1, onWarning });
    assertDone(await deliver(bench.store, sender, { receipts: true }), { accepted: 60 });
    assert.deepEqual(warnings, []);
  });

  for (const threads of [0, 1]) {
    test(`is delivered by a sender without the key, which says once that it asks for nothing, with ${threads} threads`, async () => {
      await using bench = await openBroadcastBench({ rows: 60 });
      const { broadcast } = await bench
        .createSender({ receiptKey, store: withSlices(bench.store, 20) })
        .createBroadcast('all', message, { receipts: true });
      const warnings: string[] = [];
      const sender = bench.createSender({ threads, onWarning: (warning) => warnings.push(warning) });
      const endWork = startWork(sender);
      const { broadcast: silent } = await sender.createBroadcast('all', message);
      for (const { id } of [broadcast, silent])
        assertDone(await untilDone(bench.store, id), { accepted: 60 });
      await endWork();
      assert.deepEqual(
        warnings.filter((warning) => warning.includes('receiptKey')),
        [`Broadcast ${broadcast.id} asks for receipts, but this sender has no receiptKey.`],
      );
    });
  }

  test('needs the key, and is another content than the same message without', async () => {
    await using bench = await openBroadcastBench();
    await assert.rejects(bench.createSender().createBroadcast('all', message, { receipts: true }), {
      code: 'ERR_CONFIGURATION',
      message: /receiptKey/,
    });
    const cron = { cron: '0 9 * * *', receipts: true };
    await assert.rejects(bench.createSender().createSchedule('all', message, cron), {
      message: /receiptKey/,
    });
    assert.throws(() => bench.createSender({ receiptKey: randomBytes(31) }), {
      code: 'ERR_CONFIGURATION',
      message: /"receiptKey" must be a Uint8Array of 32 random bytes/,
    });
    const sender = bench.createSender({ receiptKey });
    const idempotencyKey = 'once';
    await sender.createBroadcast('all', message, { idempotencyKey, receipts: true });
    const again = await sender.createBroadcast('all', message, { idempotencyKey, receipts: true });
    assert.equal(again.isNew, false);
    await assert.rejects(sender.createBroadcast('all', message, { idempotencyKey }), {
      code: 'ERR_IDEMPOTENCY_KEY',
    });
  });
});
