// The sender against real servers on loopback: the local push service, and plain ones for what that does not do.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { createHeaderSource } from '../../src/delivery/message-path/signing-keys.ts';
import {
  createSender,
  type GivenReader,
  type Sender,
  type SenderOptions,
  type SubscriptionInput,
} from '../../src/delivery/sender.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createUserAgent, startPushService, type PushService } from '../../src/push-service/index.ts';
import { encodeBase64url } from '../../src/protocol/bytes.ts';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { within } from '../../tools/until.ts';
import { certificate, startServer } from '../transport/peers.ts';
import { openBroadcastBench, timesReceived, vapid as benchVapid } from './broadcast-bench.ts';
import { TestClock } from './test-clock.ts';
import { pluck } from '../../tools/pluck.ts';

const keys = generateVapidKeys();
const vapid = { ...keys, subject: 'mailto:push@example.org' };
const message = { title: 'Hello', message: 'from the sender' };
const { p256dh, auth } = generateUserAgentKeys();
const texts = { p256dh: encodeBase64url(p256dh), auth: encodeBase64url(auth) };

/** A plain HTTP server, with a sender that admits it and a subscription `to` it. */
async function openServer(answer: RequestListener, options: Partial<SenderOptions> = {}) {
  const { origin, close } = await startServer(createServer(answer), 'http');
  const sender = createSender({ vapid, pushServices: [origin], ...options });
  return {
    sender,
    to: { endpoint: `${origin}/p/1`, ...texts },
    async [Symbol.asyncDispose]() {
      await close();
      await sender.close();
    },
  };
}

describe('with the local push service', () => {
  let pushService: PushService;
  let sender: Sender;
  before(async () => {
    pushService = await startPushService();
    sender = createSender({ vapid, pushServices: [pushService.origin] });
  });
  after(async () => {
    await sender.close();
    await pushService.close();
  });

  test('without a store, the caller says who reads; without that, it is the message’s own text', async () => {
    await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
    const subscription = await userAgent.subscribe(keys.publicKey);
    const greeting = {
      title: 'Hello {name|there}',
      message: 'm',
      texts: { de: { title: 'Hallo {name}' } },
      placeholders: true,
    };
    const titleFor = async (reader?: GivenReader): Promise<string> => {
      await sender.send(subscription, greeting, { reader });
      return ((await userAgent.nextMessage()).json() as typeof message).title;
    };
    assert.equal(await titleFor(), 'Hello there');
    assert.equal(await titleFor({ language: 'de-AT', data: { name: 'Ada' } }), 'Hallo Ada');
    const wrong: readonly [GivenReader, DeskbellError['code']][] = [
      [{ language: 'de' }, 'ERR_PLACEHOLDER_VALUE'],
      [{ language: 'de_AT' }, 'ERR_FIELD_VALUE'],
      [{ data: { name: ['Ada'] } as unknown as { name: string } }, 'ERR_FIELD_TYPE'],
      [{ zone: 'UTC' } as GivenReader, 'ERR_MESSAGE_INVALID'],
    ];
    for (const [reader, code] of wrong)
      await assert.rejects(sender.send(subscription, greeting, { reader }), { code });
  });

  test('a message for all asks the store for no reader, one for readers once', async () => {
    await using bench = await openBroadcastBench();
    const [endpoint] = await bench.subscribe(await bench.startPushService(), 1);
    const row = (await bench.store.subscriptions.findByEndpoint(endpoint!))!;
    const asked: string[] = [];
    const spied = <Role extends object>(role: Role): Role =>
      new Proxy(role, {
        get(target, name: string) {
          asked.push(name);
          return Reflect.get(target, name) as unknown;
        },
      });
    const { store } = bench;
    const spying = {
      store: { ...store, readers: spied(store.readers), subscriptions: spied(store.subscriptions) },
    };
    const own = bench.createSender(spying);
    await own.send(row, message);
    assert.deepEqual(asked, []);
    for (const forReaders of [{ texts: {} }, { placeholders: true }]) {
      await own.send(row, { ...message, ...forReaders });
      assert.deepEqual(asked.splice(0), ['findByEndpoint', 'factsOf'], Object.keys(forReaders).join());
    }
  });

  test('closing waits for a message whose key and reader are both looked up', async () => {
    await using bench = await openBroadcastBench();
    const [endpoint = ''] = await bench.subscribe(await bench.startPushService(), 1);
    const { p256dh: point, auth: secret } = (await bench.store.subscriptions.findByEndpoint(endpoint))!;
    const subscriptions = Object.create(bench.store.subscriptions) as typeof bench.store.subscriptions;
    subscriptions.findByEndpoint = async (wanted) => {
      await delay(20);
      return bench.store.subscriptions.findByEndpoint(wanted);
    };
    const own = bench.createSender({
      store: { ...bench.store, subscriptions },
      vapid: { ...benchVapid, previousKeys: [generateVapidKeys()] },
    });
    const sending = own.send({ endpoint, p256dh: point, auth: secret }, { ...message, texts: {} });
    await own.close();
    assert.equal((await sending).outcome.kind, 'accepted');
  });

  test('the shape of PushSubscription.toJSON() and stored bytes are taken too', async () => {
    await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
    const subscription = await userAgent.subscribe(keys.publicKey);
    const { endpoint, ...clientKeys } = subscription;
    const asJson = await sender.send({ endpoint, keys: clientKeys }, message);
    assert.equal(asJson.outcome.kind, 'accepted');
    const asBytes = await sender.send(
      {
        endpoint,
        p256dh: Buffer.from(clientKeys.p256dh, 'base64url'),
        auth: Buffer.from(clientKeys.auth, 'base64url'),
      },
      { ...message, title: 'Again' },
    );
    assert.equal(asBytes.outcome.kind, 'accepted');
    const titles = [await userAgent.nextMessage(), await userAgent.nextMessage()].map(
      (received) => (received.json() as typeof message).title,
    );
    assert.deepEqual(titles, ['Hello', 'Again']);
  });

  test('a payload of the caller is sent byte for byte', async () => {
    await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
    const subscription = await userAgent.subscribe(keys.publicKey);
    const payload = Uint8Array.from({ length: 3993 }, (_, index) => index % 256);
    const { outcome } = await sender.sendPayload(subscription, payload, { ttlSeconds: 60 });
    assert.equal(outcome.kind, 'accepted');
    assert.deepEqual((await userAgent.nextMessage()).data, Buffer.from(payload));
  });

  test('a payload that is too large, or no bytes, is refused', async () => {
    const subscription = { endpoint: `${pushService.origin}/m/a`, p256dh: '', auth: '' };
    await assert.rejects(sender.sendPayload(subscription, new Uint8Array(3994)), {
      code: 'ERR_PAYLOAD_TOO_LARGE',
      message: 'The payload has 3994 bytes; at most 3993 fit into one push message.',
    });
    await assert.rejects(sender.sendPayload(subscription, '{}' as unknown as Uint8Array), {
      code: 'ERR_MESSAGE_INVALID',
      message: /of type string; give a Uint8Array/,
    });
  });
});

test('TTL and urgency are in the request, whose length says nothing but that of the message; the answer tells its URL', async () => {
  const seen: { headers: IncomingHttpHeaders; bytes: number }[] = [];
  const listener: RequestListener = (request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      seen.push({ headers: request.headers, bytes });
      response.writeHead(201, { location: '/m/1' }).end();
    });
  };
  await using peer = await openServer(listener);
  const { sender, to } = peer;
  const { origin } = new URL(to.endpoint);
  const { outcome } = await sender.send(to, message, { ttlSeconds: 0, urgency: 'low' });
  assert.deepEqual(outcome, { kind: 'accepted', messageUrl: `${origin}/m/1` });
  const [request] = seen;
  assert.ok(request !== undefined);
  assert.equal(request.headers['ttl'], '0');
  assert.equal(request.headers['urgency'], 'low');
  assert.equal(request.bytes, 86 + JSON.stringify(message).length + 17);
});
const silent: RequestListener = () => {};
const late: RequestListener = (_request, response) => {
  setTimeout(() => response.writeHead(201).end(), 200);
};

test('what cannot be sent is refused before anything is sent', async () => {
  let requests = 0;
  await using peer = await openServer((_request, response) => {
    requests += 1;
    response.writeHead(201).end();
  });
  const { sender, to } = peer;
  const refused: readonly (readonly [DeskbellError['code'], ...Parameters<Sender['send']>])[] = [
    ['ERR_SUBSCRIPTION_INVALID', { ...to, endpoint: 'https://push.example.org/x' }, message],
    ['ERR_SUBSCRIPTION_INVALID', { ...to, p256dh: new Uint8Array(64), auth }, message],
    ['ERR_SUBSCRIPTION_INVALID', undefined as never, message],
    ['ERR_PAYLOAD_TOO_LARGE', to, { ...message, message: 'x'.repeat(4000) }],
    ['ERR_MESSAGE_INVALID', to, { message: 'm' } as never],
    ['ERR_MESSAGE_INVALID', to, message, { ttlSeconds: -1 }],
  ];
  for (const [code, ...given] of refused) await assert.rejects(sender.send(...given), { code });
  assert.equal(requests, 0);
  // a refused message does not take others of the same turn with it
  const sent = sender.send(to, message);
  const refusals = refused.map(([code, ...given]) => assert.rejects(sender.send(...given), { code }));
  await Promise.all([sent, ...refusals]);
  assert.equal(requests, 1);
});

test('a closed sender sends nothing, and may be closed again', async () => {
  await using peer = await openServer((_request, response) => response.writeHead(201).end());
  const { sender, to } = peer;
  await sender.close();
  await sender.close();
  await assert.rejects(sender.send(to, message), {
    code: 'ERR_CLOSED',
  });
});

test('a sender is not made with a push service that is no origin, or a token lifetime beyond a day', () => {
  assert.throws(() => createSender({ vapid, pushServices: ['push.example.org'] }), {
    code: 'ERR_CONFIGURATION',
  });
  assert.throws(() => createSender({ vapid: { ...vapid, lifetimeSeconds: 86_401 } }), {
    code: 'ERR_CONFIGURATION',
  });
});

test('messages to one origin that share options share their header object until the token is renewed', () => {
  let token = 'vapid t=1, k=1';
  const headersFor = createHeaderSource(() => token, 'https://fcm.googleapis.com');
  const first = headersFor({ ttlSeconds: 1 });
  assert.equal(headersFor({ ttlSeconds: 1 }), first);
  for (const other of [
    { ttlSeconds: 2 },
    { ttlSeconds: 1, topic: 'news' },
    { ttlSeconds: 1, urgency: 'high' },
  ] as const) {
    assert.notEqual(headersFor(other), first);
  }
  token = 'vapid t=2, k=1';
  assert.equal(headersFor({ ttlSeconds: 1 })['authorization'], token);
});

describe('the time that a message may take in all', () => {
  test('is the sum of the single times, up to the longest that a timer takes', async () => {
    const longest = 2 ** 31 - 1;
    await using peer = await openServer(late, { connectTimeoutMs: longest, responseTimeoutMs: longest });
    const { sender, to } = peer;
    const { outcome } = await sender.send(to, message);
    assert.equal(outcome.kind, 'accepted');
  });

  test('ends one that is in flight, which may have arrived', async () => {
    await using peer = await openServer(silent, { sendTimeoutMs: 100 });
    const { sender, to } = peer;
    const { outcome, error } = await sender.send(to, message);
    assert.ok(outcome.kind === 'retry', outcome.kind);
    assert.deepEqual([outcome.isInDoubt, error?.code], [true, 'ERR_TIMEOUT']);
  });

  for (const [what, timeouts, inAllMs] of [
    ['as it is given', { sendTimeoutMs: 60_000 }, 60_000],
    ['the sum of what connecting and answering may take', { responseTimeoutMs: 14_000 }, 24_000],
  ] as const) {
    test(`ends one that is queued, which is never sent then: ${what}`, async (t) => {
      const paths: string[] = [];
      const clock = new TestClock();
      clock.stop();
      const server = createSecureServer({ ...certificate, settings: { maxConcurrentStreams: 0 } });
      server.on('stream', (stream: ServerHttp2Stream, headers) => {
        paths.push(headers[':path'] ?? '');
        stream.respond({ ':status': 201 }, { endStream: true });
      });
      const { origin, close } = await startServer(server, 'https');
      t.after(close);
      const { monotonicNow, startTimer } = clock;
      const sender = createSender({
        vapid,
        pushServices: [origin],
        ca: [certificate.cert],
        ...timeouts,
        idleTimeoutMs: 2 ** 31 - 1,
        monotonicNow,
        startTimer,
      });
      t.after(sender.close);
      let hasEnded = false;
      const sending = sender
        .send({ endpoint: `${origin}/queued`, ...texts }, message)
        .finally(() => (hasEnded = true));
      const [session] = (await once(server, 'session')) as [ServerHttp2Session];
      // the client is connected, and knows that it may not send
      await once(session, 'localSettings');
      clock.advance(inAllMs - 1);
      await new Promise(setImmediate);
      assert.equal(hasEnded, false);
      clock.advance(1);
      const { outcome, error } = await sending;
      assert.ok(outcome.kind === 'retry', outcome.kind);
      assert.deepEqual([outcome.isInDoubt, error?.code], [false, 'ERR_TIMEOUT']);
      session.settings({ maxConcurrentStreams: 100 });
      const later = await sender.send({ endpoint: `${origin}/later`, ...texts }, message);
      assert.equal(later.outcome.kind, 'accepted');
      assert.deepEqual(paths, ['/later']);
    });
  }
});

test("a VAPID subject that is not at a domain which can exist is refused with Apple's own word, and nothing is sent", async () => {
  let connections = 0;
  const connectOverride = () => {
    connections += 1;
    return undefined;
  };
  const sender = createSender({
    vapid: { ...vapid, subject: 'mailto:push@printer.local' },
    connectOverride,
  });
  const endpoint = 'https://web.push.apple.com/QGg9y1y_0mEvQ';
  const { outcome, response } = await sender.send({ endpoint, ...texts }, message);
  assert.ok(outcome.kind === 'rejected', outcome.kind);
  assert.deepEqual([outcome.reason, outcome.isAlarm, response], ['vapid-refused', true, undefined]);
  assert.match(outcome.detail ?? '', /^BadJwtToken: .*printer\.local/);
  assert.equal(connections, 0);
  await sender.close();
});

const previous = generateVapidKeys();

test('a subscription that was made with a key of before is written to with that key, told by the caller or found in the store, and with no other one', async () => {
  await using bench = await openBroadcastBench();
  const [subscription] = bench.pushService.createSinks(1, { vapidPublicKey: previous.publicKey });
  assert.ok(subscription);
  const sender = bench.createSender({ vapid: { ...vapid, previousKeys: [previous] } });
  const kindOf = async (input: SubscriptionInput) => (await sender.send(input, message)).outcome.kind;
  assert.equal(await kindOf(subscription), 'rejected', 'nobody knows its key');
  assert.equal(await kindOf({ ...subscription, vapidPublicKey: previous.publicKey }), 'accepted');
  const parsed = parseSubscription(subscription, createEndpointPolicy([bench.pushService.origin]));
  const stored = await bench.store.subscriptions.put(parsed, previous.publicKey);
  assert.equal(await kindOf(subscription), 'accepted', 'the store knows it');
  assert.equal(await kindOf(stored), 'accepted');
  const run = await sender.broadcast({ subscriptions: [subscription] }, message);
  assert.equal((await run.finished).counts.accepted, 1, 'a list in a broadcast is the same');
  const requests = bench.pushService.statistics();
  const foreign = { ...subscription, vapidPublicKey: generateVapidKeys().publicKey };
  const { outcome } = await sender.send(foreign, message);
  assert.ok(outcome.kind === 'rejected');
  assert.equal(outcome.reason, 'vapid-key-mismatch');
  assert.deepEqual(
    bench.pushService.statistics(),
    requests,
    'nothing is sent with a key that is not its own',
  );
  const sending = kindOf(subscription);
  await sender.close();
  assert.equal(await sending, 'accepted', 'closing waits while its key is looked up');
});

describe('a sender with a store', () => {
  test('deletes a subscription that has ended, unless it was renewed meanwhile', async () => {
    await using bench = await openBroadcastBench();
    const [endpoint, renewed] = await bench.subscribe(bench.pushService, 2);
    const [row, renewedRow] = await bench.store.subscriptions.page({ afterId: 0, limit: 2 });
    assert.ok(row && renewedRow && endpoint && renewed);
    for (const gone of [endpoint, renewed]) bench.pushService.expire(gone);
    await bench.store.subscriptions.put({ ...renewedRow, auth: new Uint8Array(16) }, keys.publicKey);
    const sender = bench.createSender();
    for (const subscription of [row, renewedRow]) {
      assert.equal((await sender.send(subscription, message)).outcome.kind, 'gone');
    }
    const left = await bench.store.subscriptions.page({ afterId: 0, limit: 2 });
    assert.deepEqual(pluck(left, 'id'), [renewedRow.id]);
  });

  test('waits for the store with no message but that to a subscription that has ended', async () => {
    await using bench = await openBroadcastBench();
    const [alive, ended] = await bench.subscribe(bench.pushService, 2);
    const rows = await bench.store.subscriptions.page({ afterId: 0, limit: 2 });
    const rowOf = (endpoint: string | undefined) => rows.find((row) => row.endpoint === endpoint)!;
    bench.pushService.expire(ended!);
    const unlocked = Promise.withResolvers<void>();
    const { ledger } = bench.store;
    const recordAnswers: typeof ledger.recordAnswers = async (commit) => {
      await unlocked.promise;
      return ledger.recordAnswers(commit);
    };
    const store = { ...bench.store, ledger: { ...ledger, recordAnswers } };
    const sender = bench.createSender({ store });
    using _ = { [Symbol.dispose]: unlocked.resolve };
    // after those that are told first, at most a thousand, there are a thousand more: they are to be told at once
    const messages = Array.from({ length: 2500 }, async () => sender.send(rowOf(alive), message));
    const answers = await within(Promise.all(messages), 'the answers to all messages');
    for (const { outcome } of answers) assert.equal(outcome.kind, 'accepted');
    let hasAnswered = false;
    const gone = sender.send(rowOf(ended), message).then(({ outcome }) => {
      hasAnswered = true;
      return outcome;
    });
    // its answer has come before those of the messages that follow
    for (let count = 0; count < 3; count += 1) await sender.send(rowOf(alive), message);
    assert.equal(hasAnswered, false, 'that it is gone is not stored yet');
    unlocked.resolve();
    assert.equal((await gone).kind, 'gone');
    assert.equal(await bench.store.subscriptions.count(), 1);
    await sender.close();
    const [total] = await bench.store.statistics.outcomeTotals();
    assert.deepEqual([total?.accepted, total?.gone], [2503, 1]);
  });

  test('lets one accepted message end the hold of a push service', async () => {
    await using bench = await openBroadcastBench({ rows: 1 });
    const [row] = await bench.store.subscriptions.page({ afterId: 0, limit: 1 });
    assert.ok(row);
    bench.pushService.faults.inject({ kind: 'status', status: 401, times: 20 });
    const sender = bench.createSender();
    for (let count = 0; count < 20; count += 1) await sender.send(row, message);
    await sender.close();
    assert.equal((await bench.store.ledger.pushServices())[0]?.isSuspended, true);
    const other = bench.createSender();
    assert.equal(
      (await other.send(row, message)).outcome.kind,
      'accepted',
      'single messages are not held back',
    );
    await other.close();
    assert.equal((await bench.store.ledger.pushServices())[0]?.isSuspended, false);
    assert.deepEqual(timesReceived(bench.pushService), { 1: 1 });
  });
});

for (const [name, options] of [
  ['vapid', { vapid: undefined }],
  ['vapid.previousKeys', { vapid: { ...vapid, previousKeys: generateVapidKeys() } }],
  ['vapid.previousKeys[0]', { vapid: { ...vapid, previousKeys: ['key'] } }],
  ['ca', { ca: certificate.cert }],
  ['pushServices', { pushServices: 'https://push.example.org' }],
  ['noProxy', { noProxy: 'localhost' }],
  ['threads', { threads: -1 }],
  ['threads', { threads: 1.5 }],
  ['threads', { threads: '2' }],
  ['sendTimeoutMs', { sendTimeoutMs: Number.NaN }],
  ['sendTimeoutMs', { sendTimeoutMs: 2 ** 31 }],
  ['messageLog.of', { messageLog: { of: 'some', write: () => {} } }],
  ['messageLog.write', { messageLog: { of: 'all' } }],
  ['worker', { worker: [] }],
  ['worker.leaseMs', { worker: { leaseMs: 0 } }],
  ['worker.leaseMs', { worker: { leaseMs: undefined } }],
  ['worker.lease', { worker: { lease: 1 } }],
  ['retryPolicy.maxDelayMs', { retryPolicy: { maxDelayMs: 0 } }],
] as const) {
  test(`a wrong "${name}" is named (${JSON.stringify(options).slice(0, 60)})`, () => {
    assert.throws(
      () => createSender({ vapid, ...options } as never),
      (error) => {
        assert.ok(error instanceof DeskbellError);
        assert.equal(error.code, 'ERR_CONFIGURATION');
        assert.ok(error.message.startsWith(`"${name}" `), error.message);
        return true;
      },
    );
  });
}
