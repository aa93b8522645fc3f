// Broadcasts from the library's point of view: audiences, exactly one message each, control, idempotency.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { setEnvironmentData } from 'node:worker_threads';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { encryptionMethods } from '../../src/accelerator/encryption-methods.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import { createBroadcast, type BroadcastOptions } from '../../src/delivery/broadcast/create-broadcast.ts';
import { formatAlarm } from '../../src/delivery/broadcast/format-broadcast.ts';
import { createSchedule } from '../../src/delivery/schedule/create-schedule.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { createUserAgent } from '../../src/push-service/index.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { createEncrypter } from '../../src/protocol/message-encryption.ts';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/settings.ts';
import type { DueSchedule } from '../../src/store/schedules.ts';
import type { Store } from '../../src/store/store.ts';
import {
  assertDone,
  deliver,
  message,
  openBroadcastBench,
  startWork,
  testReach,
  timesReceived,
  vapid,
  vapidKeys,
  type BroadcastBench,
  untilDone,
} from './broadcast-bench.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { until, within } from '../../tools/until.ts';
import { never } from './test-clock.ts';
import { pluck } from '../../tools/pluck.ts';

const rowsOfSlice = 600;

/** A broadcast of one slice, which is paused or cancelled while its first rows are committed. */
async function changeInSlice(bench: BroadcastBench, change: 'pause' | 'cancel') {
  const pushService = await bench.startPushService({ tls: true, rows: rowsOfSlice });
  pushService.faults.inject({ kind: 'delay', ms: 20 });
  const { ledger, broadcasts } = bench.store;
  const commit: typeof ledger.commit = async (page) => {
    await broadcasts[change](page.broadcastId);
    return ledger.commit(page);
  };
  const store = { ...bench.store, ledger: { ...ledger, commit } };
  // fewer than the slice has can be sent before the first commit
  const worker = { leaseMs: never, maxPageRows: 400, maxDetachedRows: 64 };
  const run = await bench.createSender({ store, worker }).broadcast('all', message);
  return { pushService, broadcast: await run.finished };
}

/** From now on the accelerator, where there is one, has failed its check, for the threads of this process too. */
function failAcceleratorCheck(t: TestContext): void {
  const cacheFolder = mkdtempSync(join(fastFolder(), 'deskbell-verdict-'));
  t.after(() => rmSync(cacheFolder, { recursive: true }));
  // in another process, since this one may know the verdict already, and then writes down nothing
  const module = new URL('../../src/accelerator/load-accelerator.ts', import.meta.url).href;
  const script = `(await import('${module}')).loadAccelerator({ cacheFolder: '${cacheFolder}' })`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', script]);
  for (const name of readdirSync(cacheFolder)) {
    const key = name.replace('accelerator-', '');
    setEnvironmentData(key, 'a test says so');
    t.after(() => setEnvironmentData(key, undefined));
  }
}

describe('a broadcast', () => {
  testReach(0, 'HTTP/1.1', 300);
  testReach(2, 'HTTP/2', 2100);

  for (const encryption of encryptionMethods) {
    test(`carries the message, its topic and its TTL to the user agent, encrypted by at most ${encryption}`, async () => {
      await using bench = await openBroadcastBench({ checksBodies: true });
      await using userAgent = await createUserAgent({ webSocketUrl: bench.pushService.webSocketUrl });
      const subscription = await userAgent.subscribe(vapidKeys.publicKey);
      for (const threads of [0, 1]) {
        const run = await bench
          .createSender({ encryption, threads })
          .broadcast(
            { subscriptions: [subscription] },
            { ...message, appBadge: threads },
            { ttlSeconds: 60, topic: 'tea' },
          );
        assertDone(await run.finished, { accepted: 1 });
        assert.deepEqual((await userAgent.nextMessage()).json(), { ...message, appBadge: threads });
      }
    });
  }

  test('to a stream of ids reaches these and nobody else', async () => {
    await using bench = await openBroadcastBench({ rows: 20 });
    const ids = Readable.from([3, 17, 3, 4711]);
    const run = await bench.createSender().broadcast({ ids }, message);
    assertDone(await run.finished, { accepted: 2, removed: 1 });
    assert.deepEqual(timesReceived(bench.pushService), { 0: 18, 1: 2 });
  });

  test('to a user or to tags reaches who had them when it was created, and the counts add up', async () => {
    await using bench = await openBroadcastBench({ rows: 30 });
    const { subscriptions, people } = bench.store;
    for (const { id } of await subscriptions.page({ afterId: 0, limit: 30 })) {
      const tags = [id % 2 === 0 ? 'even' : 'odd', ...(id % 3 === 0 ? ['three'] : [])];
      await people.assign(id, { user: `person${id % 5}`, tags });
    }
    const sender = bench.createSender();
    const toPerson = await sender.broadcast({ user: 'person2' }, message);
    assertDone(await toPerson.finished, { accepted: 6 });
    assert.deepEqual(timesReceived(bench.pushService), { 0: 24, 1: 6 });
    const toTags = await sender.broadcast({ tags: { any: ['even', 'three'], none: ['odd'] } }, message);
    assertDone(await toTags.finished, { accepted: 15 });

    const { broadcast } = await sender.createBroadcast({ tags: { all: ['odd', 'three'] } }, message);
    await subscriptions.removeById(3);
    await people.assign(9, { tags: [] });
    await people.changeTags(2, { add: ['odd', 'three'] });
    const later = await sender.resume(broadcast.id);
    assertDone(await later.finished, { accepted: 4, removed: 1 });
  });

  test('to an expression is the same for the same expression, whoever meets it by now', async () => {
    await using bench = await openBroadcastBench({ rows: 4 });
    const { people } = bench.store;
    await people.assign(1, { user: 'ada', tags: ['a', 'b'] });
    const sender = bench.createSender();
    const options = { idempotencyKey: 'once' };
    const first = await sender.createBroadcast({ tags: { all: ['a', 'b'] } }, message, options);
    await people.assign(2, { tags: ['a', 'b'] });
    const second = await sender.createBroadcast({ tags: { all: ['b', 'a', 'a'] } }, message, options);
    assert.deepEqual([second.broadcast.id, second.isNew], [first.broadcast.id, false]);
    assert.equal(second.broadcast.recipients, 1);
    const nextList = await bench.store.broadcasts.openAudience();
    assert.equal(nextList, 2, 'the audience was not written down again');
    await assert.rejects(sender.createBroadcast({ tags: { any: ['a', 'b'] } }, message, options), {
      code: 'ERR_IDEMPOTENCY_KEY',
    });
    await assert.rejects(sender.createBroadcast({ tags: {} }, message), { code: 'ERR_FIELD_VALUE' });

    const own = await sender.createBroadcast({ user: 'ada' }, message);
    assert.equal((await people.remove('ada')).broadcasts, 1);
    assert.equal(await bench.store.broadcasts.find(own.broadcast.id), undefined);
  });

  test('to a stream of subscriptions needs no row in the store', async () => {
    await using bench = await openBroadcastBench({ tls: true });
    // more than are stored at once
    const sinks = bench.pushService.createSinks(1200, { vapidPublicKey: vapidKeys.publicKey });
    async function* stream() {
      yield* sinks;
    }
    const run = await bench.createSender().broadcast({ subscriptions: stream() }, message);
    assertDone(await run.finished, { accepted: 1200 });
    assert.deepEqual(timesReceived(bench.pushService), { 1: 1200 });
    assert.equal(await bench.store.subscriptions.count(), 0);
  });

  test('whose list holds something else than subscriptions sends nothing', async () => {
    await using bench = await openBroadcastBench();
    const [sink] = bench.pushService.createSinks(1);
    assert.ok(sink);
    const sender = bench.createSender();
    for (const wrong of [{ auth: 'short' }, { endpoint: 'https://unknown.example.net/x' }]) {
      await assert.rejects(sender.broadcast({ subscriptions: [sink, { ...sink, ...wrong }] }, message), {
        code: 'ERR_SUBSCRIPTION_INVALID',
      });
    }
    await assert.rejects(sender.broadcast({ ids: [1, 2.5] }, message), { code: 'ERR_FIELD_VALUE' });
    const ofTwoKinds = [{ ids: [1], user: 'ada' }, { ids: [1], subscriptions: [sink] }, {}] as const;
    for (const audience of ofTwoKinds)
      await assert.rejects(sender.broadcast(audience as never, message), { message: /or have either ids/ });
    assert.deepEqual(await bench.store.broadcasts.list({ limit: 10 }), []);
    assert.deepEqual(timesReceived(bench.pushService), { 0: 1 });
  });

  test('repeated with its key sends nothing twice, though each message has an ID, and tells another content from it', async () => {
    await using bench = await openBroadcastBench({ rows: 10 });
    const sender = bench.createSender();
    const tagged = { ...message, tag: null, renotify: true };
    const first = await sender.broadcast('all', tagged, { idempotencyKey: 'tea' });
    await first.finished;
    const again = await sender.broadcast('all', tagged, { idempotencyKey: 'tea' });
    assert.equal(again.isNew, false);
    assert.equal(again.broadcast.id, first.broadcast.id);
    assertDone(await again.finished, { accepted: 10 });

    const others = [
      ['all', { ...tagged, message: 'Coffee' }, {}],
      ['all', { ...tagged, renotify: false }, {}],
      ['all', tagged, { ttlSeconds: 60 }],
      ['all', tagged, { urgency: 'high' }],
      ['all', tagged, { topic: 'tea' }],
      [{ ids: [1, 2] }, tagged, {}],
    ] as const;
    for (const [audience, other, options] of others) {
      await assert.rejects(sender.broadcast(audience, other, { ...options, idempotencyKey: 'tea' }), {
        code: 'ERR_IDEMPOTENCY_KEY',
      });
    }
    assert.deepEqual(timesReceived(bench.pushService), { 1: 10 });
  });

  test('with a list is the same only for the same list', async () => {
    await using bench = await openBroadcastBench({ rows: 10 });
    const sender = bench.createSender();
    const options = { idempotencyKey: 'list' };
    const first = await sender.createBroadcast({ ids: [1, 2, 3] }, message, options);
    const again = await sender.createBroadcast({ ids: [1, 2, 3] }, message, options);
    assert.equal(again.broadcast.id, first.broadcast.id);
    await assert.rejects(sender.createBroadcast({ ids: [1, 23] }, message, options), {
      code: 'ERR_IDEMPOTENCY_KEY',
    });

    const [one, other] = bench.pushService.createSinks(2, { vapidPublicKey: vapidKeys.publicKey });
    const given = { idempotencyKey: 'given' };
    const toOne = await sender.createBroadcast({ subscriptions: [one!] }, message, given);
    const repeated = await sender.createBroadcast({ subscriptions: [one!] }, message, given);
    assert.deepEqual([repeated.broadcast.id, repeated.isNew], [toOne.broadcast.id, false]);
    // another browser, or other keys of the same one
    for (const changed of [other!, { ...one!, p256dh: other!.p256dh }, { ...one!, auth: other!.auth }]) {
      await assert.rejects(sender.createBroadcast({ subscriptions: [changed] }, message, given), {
        code: 'ERR_IDEMPOTENCY_KEY',
      });
    }
  });

  test('that is paused stops in the middle of a slice, and goes on where it was', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, broadcast } = await changeInSlice(bench, 'pause');
    const { id, state, counts } = broadcast;
    assert.equal(state, 'paused');
    assert.ok(counts.accepted > 0 && counts.accepted < rowsOfSlice);
    const messages = pushService.tallySinks()[0]?.messages;
    assert.equal(messages, counts.accepted, 'what was in flight is counted');

    pushService.faults.clear();
    const resumed = await bench.createSender().resume(id);
    assertDone(await resumed.finished, { accepted: rowsOfSlice });
    assert.deepEqual(timesReceived(pushService), { 1: rowsOfSlice });
  });

  test('that was stopped here is taken up by another sender at once, with nothing sent twice', async () => {
    await using bench = await openBroadcastBench({ tls: true, rows: 600 });
    bench.pushService.faults.inject({ kind: 'delay', ms: 50 });
    const run = await bench.createSender().broadcast('all', message);
    for await (const { settled } of run.progress()) if (settled > 0) break;
    await run.stop();
    const { state, counts } = await run.finished;
    assert.equal(counts.accepted, bench.pushService.tallySinks()[0]?.messages);
    assert.ok(state === 'running' || counts.pending === 0);
    const other = await bench.createSender().resume(run.broadcast.id);
    assertDone(await other.finished, { accepted: 600 });
    assert.deepEqual(timesReceived(bench.pushService), { 1: 600 });
  });

  test('whose sender is closed while a push service does not answer gives its rows back, and another sender sends them', async () => {
    await using bench = await openBroadcastBench();
    const [silent, other] = [await bench.startPushService(), await bench.startPushService()];
    await bench.subscribe(silent, 40);
    await bench.subscribe(other, 40);
    silent.faults.inject({ kind: 'hang' });
    const sender = bench.createSender({ worker: { leaseMs: never, stopGraceMs: 300 } });
    const run = await sender.broadcast('all', message);
    for await (const { settled } of run.progress()) if (settled === 40) break;
    await within(
      sender.close(),
      'the sender to be closed: answers are waited for for a while and not for ever',
    );
    const { state, counts } = await within(run.finished, 'the broadcast as it is then');
    assert.deepEqual([state, counts.accepted, counts.pending], ['running', 40, 40]);

    silent.faults.clear();
    const next = await bench.createSender().resume(run.broadcast.id);
    assertDone(await next.finished, { accepted: 80 });
    assert.deepEqual(timesReceived(other), { 1: 40 });
    assert.equal(await bench.store.subscriptions.count(), 80);
  });

  test('that is stopped while a commit fails does not commit past its rows, and whoever resumes it sends them', async () => {
    await using bench = await openBroadcastBench({ tls: true, rows: 600 });
    const { ledger } = bench.store;
    const [began, failing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let commits = 0;
    const commit: typeof ledger.commit = async (page) => {
      commits += 1;
      if (commits > 1) return ledger.commit(page);
      began.resolve();
      await failing.promise;
      throw new Error('a fault that passes');
    };
    const store = { ...bench.store, ledger: { ...ledger, commit } };
    const run = await bench.createSender({ store, worker: { leaseMs: 300 } }).broadcast('all', message);
    await began.promise;
    const stopped = run.stop();
    failing.resolve();
    await stopped;
    await assert.rejects(run.finished, /a fault that passes/);
    assertDone(await (await bench.createSender().resume(run.broadcast.id)).finished, { accepted: 600 });
    assert.equal(timesReceived(bench.pushService)[0], undefined, 'nobody was left out');
  });

  test('that is cancelled stops in the middle of a slice, and sends no more', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, broadcast } = await changeInSlice(bench, 'cancel');
    const { state, counts } = broadcast;
    assert.equal(state, 'cancelled');
    assert.ok(counts.cancelled > 0);
    assert.equal(counts.accepted + counts.cancelled, rowsOfSlice);
    assert.equal(pushService.tallySinks()[0]?.messages, counts.accepted);
  });

  test('that was only created is delivered by a sender that works on everything', async () => {
    await using bench = await openBroadcastBench({ rows: 50 });
    const schedule = await createSchedule(bench.store, 'all', message, { cron: '0 9 * * *' });
    const hasFailed = Promise.withResolvers<void>();
    const takeDue = async (): Promise<DueSchedule> => {
      schedules.takeDue = async () => {
        hasFailed.resolve();
        assert.fail('schedules cannot be read');
      };
      return { ...schedule, nowMs: schedule.nextAtMs + 7_200_000 };
    };
    const schedules = { ...bench.store.schedules, takeDue };
    const findUnprepared = async () => {
      broadcasts.findUnprepared = bench.store.broadcasts.findUnprepared;
      return assert.fail('audiences cannot be read');
    };
    const leaseSlice = async () => {
      leases.leaseSlice = bench.store.leases.leaseSlice;
      return assert.fail('slices cannot be leased');
    };
    const broadcasts: Store['broadcasts'] = { ...bench.store.broadcasts, findUnprepared };
    const leases: Store['leases'] = { ...bench.store.leases, leaseSlice };
    const warnings: string[] = [];
    const sender = bench.createSender({
      store: { ...bench.store, schedules, broadcasts, leases },
      onWarning: (warning) => warnings.push(warning),
    });
    const faults: unknown[] = [];
    const endWork = startWork(sender, (fault) => faults.push(fault));
    await hasFailed.promise;
    const { broadcast } = await sender.createBroadcast('all', message);
    await untilDone(bench.store, broadcast.id);
    const faultsOf = (what: string) => faults.filter((fault) => String(fault).includes(what)).length;
    await until(() => faultsOf('schedules') >= 2, 'a second look at the schedules');
    await endWork();
    assert.deepEqual([faultsOf('audiences'), faultsOf('slices')], [1, 1], 'and it goes on');
    assert.match(warnings.join(), /^Schedule 1 was not sent at [^,]*, because no worker was running\.$/);
    assert.deepEqual(timesReceived(bench.pushService), { 1: 50 });
  });

  test('is worked on over faults that nobody wants to be told of', async () => {
    await using bench = await openBroadcastBench();
    const stop = new AbortController();
    const findUnprepared = async () => {
      stop.abort();
      return assert.fail('audiences cannot be read');
    };
    const broadcasts = { ...bench.store.broadcasts, findUnprepared };
    await bench.createSender({ store: { ...bench.store, broadcasts } }).work(stop.signal);
  });

  test('whose store fails rejects for who waits, and is no unhandled rejection for who does not', async () => {
    await using bench = await openBroadcastBench({ rows: 1 });
    const hasFailed = Promise.withResolvers<void>();
    const leaseSlice = async (): Promise<never> => {
      hasFailed.resolve();
      return assert.fail('the store fails');
    };
    const store = { ...bench.store, leases: { ...bench.store.leases, leaseSlice } };
    const run = await bench.createSender({ store }).broadcast('all', message);
    await hasFailed.promise;
    await run.stop();
    await new Promise(setImmediate);
    await assert.rejects(run.finished, /the store fails/);
  });

  test('whose threads fail rejects with the error of one of them', async () => {
    await using bench = await openBroadcastBench({ rows: 2000 });
    const { address } = bench.store;
    const isInPostgres = 'url' in (address.options as object);
    const options = isInPostgres ? { url: 'postgres://127.0.0.1:1/none' } : { path: '/nowhere/at/all.db' };
    const store = { ...bench.store, address: { ...address, options } };
    const run = await bench.createSender({ store, threads: 1 }).broadcast('all', message);
    await assert.rejects(run.finished, { code: 'ERR_STORE_UNAVAILABLE' });
  });

  test('passes over rows whose keys are unusable, and sends to the others', async () => {
    await using bench = await openBroadcastBench();
    const endpoints = await bench.subscribe(bench.pushService, 3);
    const offCurve = new Uint8Array(65).fill(4);
    const auth = new Uint8Array(16);
    await bench.store.subscriptions.put(
      { endpoint: endpoints[1] ?? '', p256dh: offCurve, auth },
      vapidKeys.publicKey,
    );
    const broadcast = await (await bench.createSender().broadcast('all', message)).finished;
    assertDone(broadcast, { accepted: 2, rejected: 1 });
    assert.equal(broadcast.alarms[0]?.reason, 'bad-encryption');
    assert.equal(await bench.store.subscriptions.count(), 3);
  });

  test('leaves a push service that its sender does not list to one that does', async () => {
    await using bench = await openBroadcastBench({ rows: 30 });
    const run = await bench.createSender({ pushServices: [] }).broadcast('all', message);
    const read = () => bench.store.broadcasts.find(run.broadcast.id);
    await until(async () => (await read())?.waiting === 30, 'all rows wait');
    const { counts, alarms } = (await read())!;
    assert.deepEqual([counts.pending, counts.rejected], [30, 0]);
    assert.deepEqual(pluck(alarms, 'reason', 'rows'), [['not-listed', 30]]);
    assert.match(formatAlarm(alarms[0]!), /its messages wait for .*"pushServices"/);
    assert.deepEqual(timesReceived(bench.pushService), { 0: 30 });

    const endWork = startWork(bench.createSender());
    assertDone(await run.finished, { accepted: 30 });
    await endWork();
    assert.deepEqual(timesReceived(bench.pushService), { 1: 30 });
  });

  test('waits for a known push service whose address is blocked, and names the setting', async () => {
    await using bench = await openBroadcastBench();
    const { origin } = await bench.startPushService({ rows: 5 });
    const { p256dh, auth } = generateUserAgentKeys();
    const subscription = { endpoint: 'https://fcm.googleapis.com/fcm/send/inside', p256dh, auth };
    await bench.store.subscriptions.put(subscription, vapidKeys.publicKey);
    let lookups = 0;
    const sender = bench.createSender({
      retryPolicy: { ...defaultRetryPolicy, maxAttempts: 1 },
      resolve: async () => {
        lookups += 1;
        return [{ address: '198.18.0.5', family: 4 }];
      },
    });
    const [stored] = await bench.store.subscriptions.page({ afterId: 5, limit: 1 });
    const { outcome } = await sender.send(stored!, message);
    assert.ok(outcome.kind === 'retry' && outcome.reason === 'address-blocked' && outcome.isUnsent);
    const run = await sender.broadcast('all', message);
    await until(() => lookups >= 3, 'several looks');
    const { counts, origins, alarms } = await bench.store.broadcasts.get(run.broadcast.id);
    assert.deepEqual([counts.accepted, counts.pending], [5, 1]);
    assert.deepEqual(Object.fromEntries(origins.map((one) => [one.origin, one.attempts])), {
      'https://fcm.googleapis.com': 0,
      [origin]: 5,
    });
    assert.deepEqual(pluck(alarms, 'reason'), ['address-blocked']);
    assert.match(
      formatAlarm(alarms[0]!),
      /^fcm\.googleapis\.com leads to 198\.18\.0\.5.*"pushServiceAddresses"/,
    );
    await run.stop();
  });

  test('rejects rows whose host a stranger has named and leads inside, after as many attempts as refused ones get', async () => {
    await using bench = await openBroadcastBench({ rows: 5 });
    const { p256dh, auth } = generateUserAgentKeys();
    const origin = 'https://push.stranger.net';
    const endpoint = `${origin}/inside`;
    await bench.store.subscriptions.put({ endpoint, p256dh, auth }, vapidKeys.publicKey);
    const sender = bench.createSender({
      pushServices: [bench.pushService.origin, 'public'],
      retryPolicy: { ...defaultRetryPolicy, firstDelayMs: 10, maxDelayMs: 20, maxAttempts: 4 },
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const broadcast = await (await sender.broadcast('all', message)).finished;
    assertDone(broadcast, { accepted: 5, rejected: 1 });
    const blocked = broadcast.origins.find((one) => one.origin === origin);
    assert.deepEqual([blocked?.attempts, blocked?.rejected], [4, 1]);
    assert.deepEqual(pluck(broadcast.alarms, 'reason', 'rows'), [['address-blocked', 1]]);
  });

  test('says once, of a large broadcast only, why it goes without the accelerator', async (t) => {
    failAcceleratorCheck(t);
    await using bench = await openBroadcastBench();
    assert.ok(defaultWorkerSettings.warnFromAudience > 4200, '4,200 are not many');
    const rows = 40;
    await bench.startPushService({ rows });
    const { reason } = loadAccelerator();
    assert.match(
      reason ?? '',
      /^Encrypting with Node's builtins: (?:the accelerator failed its check|there is no)/,
    );
    const deliverBy = async (sender: Sender) =>
      assertDone(await deliver(bench.store, sender), { accepted: rows });
    for (const threads of [0, 1]) {
      const warnings: string[] = [];
      const onWarning = (warning: string): unknown => warnings.push(warning);
      for (const worker of threads === 0 ? [{}, { warnFromAudience: rows + 1 }] : []) {
        const sender = bench.createSender({ threads, onWarning, worker });
        await deliverBy(sender);
        assert.deepEqual(warnings, [], 'a smaller one needs none');
      }
      const sender = bench.createSender({ threads, onWarning, worker: { warnFromAudience: rows } });
      for (let time = 0; time < 2; time += 1) await deliverBy(sender);
      assert.deepEqual(warnings, [reason]);
    }
  });

  test('does not take an encrypter of its own together with threads, which cannot be given one', async () => {
    await using bench = await openBroadcastBench();
    const encrypt = createEncrypter();
    assert.throws(() => bench.createSender({ threads: 1, encrypt }), { code: 'ERR_CONFIGURATION' });
  });

  test('refuses a topic that not every database stores, or that is longer than any URL', async () => {
    await using bench = await openBroadcastBench();
    const sender = bench.createSender();
    const code = 'ERR_MESSAGE_INVALID';
    for (const topic of ['a\0b', 'a\nb', '\ud83d']) {
      const fault = '"topic" has a control character or a lone surrogate; give text without them.';
      await assert.rejects(sender.createBroadcast('all', message, { topic }), { code, message: fault });
    }
    const fault = '"topic" has 2049 characters; give at most 2048.';
    const options = { topic: 'x'.repeat(2049) };
    await assert.rejects(sender.createBroadcast('all', message, options), { code, message: fault });
    for (const topic of ['😀', 'Tea is ready!', 'x'.repeat(2048)]) {
      assert.equal((await sender.createBroadcast('all', message, { topic })).broadcast.topic, topic);
    }
  });

  test('needs a store, a good message, and a sender that is open', async () => {
    const without = createSender({ vapid });
    await assert.rejects(without.broadcast('all', message), { code: 'ERR_CONFIGURATION' });
    await without.close();

    await using bench = await openBroadcastBench();
    const sender = bench.createSender();
    const bad = [
      [{ title: 'x', message: 'y'.repeat(4000) }, {}, 'ERR_PAYLOAD_TOO_LARGE'],
      [{ title: 1, message: 'y' } as never, {}, 'ERR_MESSAGE_INVALID'],
      [message, { ttlSeconds: -1 }, 'ERR_MESSAGE_INVALID'],
      [message, { urgency: 'urgent' as never }, 'ERR_MESSAGE_INVALID'],
      [message, { startAt: new Date('never') }, 'ERR_MESSAGE_INVALID'],
      [message, { startAt: new Date(Date.now() - 61_000) }, 'ERR_MESSAGE_INVALID'],
      [message, { idempotencyKey: '' }, 'ERR_MESSAGE_INVALID'],
      [message, { idempotencyKey: 'a\0b' }, 'ERR_MESSAGE_INVALID'],
    ] as const;
    for (const [badMessage, options, code] of bad) {
      await assert.rejects(sender.broadcast('all', badMessage, options), { code });
    }
    await assert.rejects(sender.resume(99), { code: 'ERR_BROADCAST_NOT_FOUND' });
    await sender.close();
    await assert.rejects(sender.broadcast('all', message), { code: 'ERR_CLOSED' });
  });
});

test('members of the retry policy that are not given stay as by default', async () => {
  await using bench = await openBroadcastBench({ rows: 2 });
  bench.pushService.faults.inject({ kind: 'status', status: 503, times: 1 });
  const sender = bench.createSender({ retryPolicy: { maxAttempts: 1 } });
  const { finished } = await sender.broadcast('all', message);
  assertDone(await finished, { accepted: 1, exhausted: 1 });
});

test('a start of just now is sent, and a repeated one of long ago gives the broadcast that was made', async () => {
  await using bench = await openBroadcastBench({ rows: 1 });
  const sender = bench.createSender();
  const justNow = new Date(Date.now() - 30_000);
  const { finished } = await sender.broadcast('all', message, { startAt: justNow });
  assertDone(await finished, { accepted: 1 });

  const options = { startAt: new Date(Date.now() + 5000), idempotencyKey: 'launch' };
  const first = await sender.createBroadcast('all', message, options);
  const later = { ...bench.store, now: () => Date.now() + 3_600_000 };
  const create = (given: BroadcastOptions) =>
    createBroadcast(later, createEndpointPolicy(), 'all', message, given);
  assert.deepEqual(await create(options), { ...first, isNew: false });
  await assert.rejects(create({ startAt: options.startAt }), {
    code: 'ERR_MESSAGE_INVALID',
    message: /startAt.*give a time to come/,
  });
});
