// A pair that is made while a sender runs: the sender signs with it, and with the former one, without being made anew.
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openDataDirectory, type DataDirectory } from '../../src/cli/data/data-directory.ts';
import { retireKey, rotateKeys } from '../../src/cli/data/key-rotation.ts';
import { createSender, type Sender, type SubscriptionInput } from '../../src/delivery/sender.ts';
import { addKeyPair } from '../../src/keys/vapid-key-files.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import type { TestDatabase } from '../../tools/postgres-server.ts';
import { createTestDatabase } from '../store/test-database.ts';
import { until } from '../../tools/until.ts';
import { assertDone, message, quickRetries, startWork, storeSinks, untilDone } from './broadcast-bench.ts';
import { fastFolder } from '../../tools/fast-folder.ts';

describe('a sender that was made before a rotation', () => {
  let folder: string;
  let database: TestDatabase | undefined;
  let data: DataDirectory;
  let pushService: PushService;
  let sender: Sender;

  const makeSender = (threads: number): Sender =>
    createSender({
      vapid: { ...data.vapidKeys, subject: 'mailto:push@example.org' },
      store: data.store,
      threads,
      pushServices: [pushService.origin],
      worker: { leaseMs: 1000 },
      retryPolicy: quickRetries,
    });

  beforeEach(async () => {
    folder = mkdtempSync(join(fastFolder(), 'deskbell-rotated-'));
    database = await createTestDatabase();
    data = await openDataDirectory(folder, { database: database?.url });
    pushService = await startPushService({ checksBodies: false });
    sender = makeSender(0);
    // its transport, its encryption and its keys are there from now on
    assert.equal(await kindOf(subscribe(data.vapidKeys.publicKey)), 'accepted');
  });
  afterEach(async () => {
    await sender.close();
    await pushService.close();
    await data.close();
    await database?.remove();
    rmSync(folder, { recursive: true });
  });

  /** A subscription that the push service takes messages for from this key only. */
  const subscribe = (vapidPublicKey: string): SubscriptionInput => {
    const [subscription] = pushService.createSinks(1, { vapidPublicKey });
    assert.ok(subscription);
    return subscription;
  };
  const store = (count: number, vapidPublicKey: string) =>
    storeSinks(data.store, pushService, count, vapidPublicKey);
  const kindOf = async (input: SubscriptionInput) => (await sender.send(input, message)).outcome.kind;

  test('sends single messages with either pair, also to who is not stored and names no key', async () => {
    const former = data.vapidKeys.publicKey;
    const current = await rotateKeys(folder, data.store);
    assert.equal(await kindOf({ ...subscribe(former), vapidPublicKey: former }), 'accepted');
    assert.equal(await kindOf({ ...subscribe(current), vapidPublicKey: current }), 'accepted');
    assert.equal(
      await kindOf(subscribe(current)),
      'accepted',
      'the current key is the one that browsers get',
    );
    await store(1, former);
    const [row] = await data.store.subscriptions.page({ afterId: 0, limit: 1 });
    assert.ok(row);
    const { endpoint, p256dh, auth } = row;
    assert.equal(await kindOf({ endpoint, p256dh, auth }), 'accepted', 'the store names the key');
  });

  test('sends a broadcast to rows of three pairs, and to a list that names no key', async () => {
    await store(20, data.vapidKeys.publicKey);
    for (let rotation = 0; rotation < 2; rotation += 1) await store(20, await rotateKeys(folder, data.store));
    assertDone(await (await sender.broadcast('all', message)).finished, { accepted: 60 });

    const current = await data.store.vapidKeys.current();
    const subscriptions = [...pushService.createSinks(5, { vapidPublicKey: current ?? '' })];
    assertDone(await (await sender.broadcast({ subscriptions }, message)).finished, { accepted: 5 });
  });

  test('sends what is tried again with a pair that it has not read before', async () => {
    await store(3, await rotateKeys(folder, data.store));
    pushService.faults.inject({ kind: 'status', status: 503 });
    const { broadcast } = await sender.broadcast('all', message);
    const waiting = async () => (await data.store.broadcasts.get(broadcast.id)).waiting === 3;
    await until(waiting, 'three that are tried again');
    await sender.close();
    pushService.faults.clear();
    sender = makeSender(0);
    assertDone(await (await sender.resume(broadcast.id)).finished, { accepted: 3 });
  });

  test('threads that deliver since before the rotation send with the new pair', async () => {
    const threaded = makeSender(1);
    const faults: unknown[] = [];
    const endWork = startWork(threaded, (fault) => faults.push(fault));
    const deliver = async () => {
      const { broadcast } = await threaded.createBroadcast('all', message);
      return untilDone(data.store, broadcast.id);
    };
    try {
      await store(4, data.vapidKeys.publicKey);
      assertDone(await deliver(), { accepted: 4 });
      await store(4, await rotateKeys(folder, data.store));
      assertDone(await deliver(), { accepted: 8 });
      assert.deepEqual(faults, []);
    } finally {
      await endWork();
      await threaded.close();
    }
  });

  test('signs no longer with a pair that is retired by force while it runs', async () => {
    const former = data.vapidKeys.publicKey;
    const row = { ...subscribe(former), vapidPublicKey: former };
    await rotateKeys(folder, data.store);
    assert.equal(await kindOf(row), 'accepted');
    // as on another machine, whose command cannot remove the file that is here
    await data.store.vapidKeys.retire(former, { force: true });
    let last = 'accepted';
    for (let tries = 0; last === 'accepted' && tries < 10_000; tries += 1) last = await kindOf(row);
    assert.equal(last, 'rejected');
  });

  test('rejects rows of a pair that was retired by force before it was needed here', async () => {
    const forced = await rotateKeys(folder, data.store);
    await rotateKeys(folder, data.store);
    await store(3, forced);
    await retireKey(folder, data.store, forced, { force: true });
    assertDone(await (await sender.broadcast('all', message)).finished, { rejected: 3 });
  });

  test('sends with a pair whose file comes later than the first message for it', async () => {
    // as on another machine, which gets the file after the rotation
    const pair = generateVapidKeys();
    const row = { ...subscribe(pair.publicKey), vapidPublicKey: pair.publicKey };
    assert.equal(await kindOf(row), 'rejected');
    await addKeyPair(folder, pair);
    await until(async () => (await kindOf(row)) === 'accepted', 'a message signed with the pair', 30_000);
  });

  test('rejects nothing where the key files cannot be read, and delivers once they can', async () => {
    await store(3, await rotateKeys(folder, data.store));
    renameSync(join(folder, 'vapid-keys.json'), join(folder, 'hidden.json'));
    const run = await sender.broadcast('all', message);
    await assert.rejects(run.finished, { code: 'ERR_KEY_FILE_MISSING' });
    renameSync(join(folder, 'hidden.json'), join(folder, 'vapid-keys.json'));
    assertDone(await (await sender.resume(run.broadcast.id)).finished, { accepted: 3 });
  });
});
