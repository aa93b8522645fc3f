// Where any public host is a push service: from a browser's registration to what comes of a broadcast, at a server that answers as
// ntfy does.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2ServerRequest } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { describe, test, type TestContext } from 'node:test';
import { RateLimits } from '../../src/delivery/limits/rate-limits.ts';
import { toRowResult, type Row } from '../../src/delivery/worker/record.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { explain } from '../../src/operations/outcomes.ts';
import type { ServerOptions } from '../../src/service/options.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { readResponse } from '../../src/protocol/outcome.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { newSubscription, sendJson, startService } from '../service/running-service.ts';
import { sendMany, tally } from '../transport/sending.ts';
import { openTestStore } from '../store/test-database.ts';
import { createTransport } from '../../src/transport/create-transport.ts';
import { until } from '../../tools/until.ts';
import { assertDone, startWork } from './broadcast-bench.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { listenOnNewPort } from '../../tools/listening.ts';

const host = 'ntfy.example.net';
const origin = `https://${host}`;
const keys = generateVapidKeys();
const vapid = { ...keys, subject: 'mailto:ops@example.org' };
const message = { title: 'UnifiedPush', message: 'to any server' };
const subscriptionOf = (topic: string) => ({ ...newSubscription(), endpoint: `${origin}/${topic}?up=1` });

async function startStage(
  t: TestContext,
  ofNtfy: Parameters<typeof startNtfyServer>[0] = {},
  given: Partial<ServerOptions> = {},
) {
  const ntfy = await startNtfyServer(ofNtfy);
  t.after(() => ntfy.close());
  const options = {
    vapidPublicKey: keys.publicKey,
    pushServices: 'public',
    pushOnly: true,
    ...given,
  } as const;
  const { base, store } = await startService(options, t);
  const senderOf = (more: Partial<SenderOptions> = {}) => {
    const sender = createSender({
      vapid,
      store,
      pushServices: 'public',
      threads: 0,
      ca: ntfy.ca,
      connectOverride: (named) => (named === origin ? { host: '127.0.0.1', port: ntfy.port } : undefined),
      ...more,
    });
    t.after(() => sender.close());
    return sender;
  };
  const register = async (topic: string): Promise<void> => {
    const response = await sendJson(base, 'POST', '/webPush', subscriptionOf(topic));
    assert.equal(response.status, 200, await response.text());
  };
  return { ntfy, base, store, senderOf, register };
}

for (const http2 of [true, false]) {
  test(`topics of ntfy are registered, get a broadcast, and each has its own outcome over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`, async (t) => {
    const { ntfy, store, senderOf, register } = await startStage(t, { http2 });
    // more refusals in a row than a push service may have as a whole
    for (let number = 0; number < 12; number += 1) await register(topicOf('limited', number));
    for (let number = 0; number < 3; number += 1) await register(topicOf('live', number));
    for (const state of ['dead', 'full'] as const) await register(topicOf(state, 0));
    const sender = senderOf({
      maxRate: [`${host}=1000/s`],
      retryPolicy: { ...defaultRetryPolicy, maxAttempts: 1 },
    });
    const run = await sender.broadcast('all', message);
    assertDone(await run.finished, { accepted: 3, gone: 1, exhausted: 13 });
    assert.equal(ntfy.posted.length, 17);
    assert.deepEqual([...ntfy.contentEncodings], ['aes128gcm']);
    const rows = await store.subscriptions.page({ afterId: 0, limit: 20 });
    assert.equal(rows.length, 16);
    assert.ok(!rows.some(({ endpoint }) => endpoint.includes(topicOf('dead', 0))));
  });
}

test('single messages to a host that nobody has listed wait for its rate; a rate of the operator holds instead', async (t) => {
  const { senderOf } = await startStage(t);
  const kindsOf = async (more: Partial<SenderOptions>): Promise<Record<string, number>> => {
    // time stands still
    const sender = senderOf({ ...more, monotonicNow: () => 1_000_000 });
    const sent = Array.from({ length: 15 }, (_, number) =>
      sender.send(subscriptionOf(topicOf('live', number)), message),
    );
    const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome);
    return Object.fromEntries(
      Object.entries(Object.groupBy(outcomes, ({ kind }) => kind)).map(([kind, of]) => [kind, of.length]),
    );
  };
  assert.deepEqual(await kindsOf({}), { accepted: 10, retry: 5 });
  assert.deepEqual(await kindsOf({ maxRate: [`${host}=100/s`] }), { accepted: 15 });
  assert.deepEqual(await kindsOf({ pushServices: [origin] }), { accepted: 15 });
});

test('a host that nobody has listed gets two connections; one that is listed gets as many as its messages need', async (t) => {
  for (const [pushServices, inHand] of [
    ['public', 2],
    [[origin], 3],
  ] as const) {
    const ntfy = await startNtfyServer({ http2: false, inHand });
    const connectOverride = () => ({ host: '127.0.0.1', port: ntfy.port });
    const transport = createTransport({ pushServices, ca: ntfy.ca, connectOverride });
    // in this order: a server waits a minute for a connection on which nothing was ever asked
    t.after(async () => {
      await transport.close(0);
      await ntfy.close();
    });
    const path = `/${topicOf('live', 0)}?up=1`;
    const results = await sendMany(transport, origin, 20, 20, () => ({ path }));
    assert.deepEqual(tally(results), { 200: 20 });
    if (pushServices === 'public') assert.equal(ntfy.connections, 2);
    else assert.ok(ntfy.connections > 2);
  }
});

test('no end waits for hosts that do not answer: their messages wait outside, and are sent when they do', async (t) => {
  const others = ['never.example.net', 'once.example.net'];
  const [never, once] = others.map((name) => `https://${name}`) as [string, string];
  let passedMs = 0;
  const now = () => Date.now() + passedMs;
  const { store, remove } = await openTestStore(now);
  t.after(remove);
  const { ntfy, base, senderOf, register } = await startStage(t, { others }, { store });
  const subscriptions = [never, once].map((named, number) => ({
    ...newSubscription(),
    endpoint: `${named}/${topicOf('live', number + 1)}?up=1`,
  }));
  const registerStrangers = async () => {
    for (const subscription of subscriptions)
      assert.equal((await sendJson(base, 'POST', '/webPush', subscription)).status, 200);
  };
  await register(topicOf('live', 0));
  await registerStrangers();
  const away = new Set([never]);
  const retryPolicy = { ...defaultRetryPolicy, firstDelayMs: 10, maxDelayMs: 10, maxDeferralMs: 10 };
  const startSender = (tried: Set<string> = new Set()) =>
    senderOf({
      pushServices: ['public', origin],
      store,
      now,
      retryPolicy,
      connectOverride: (named) => {
        tried.add(named);
        return { host: '127.0.0.1', port: away.has(named) ? 1 : ntfy.port };
      },
    });
  /** @param last ten minutes pass once it was tried */
  const broadcast = async (last?: string) => {
    const tried = new Set<string>();
    const { finished } = await startSender(tried).broadcast('all', message);
    if (last !== undefined) {
      await until(() => tried.has(last), 'a try');
      passedMs += 600_000;
    }
    return { ended: await finished, tried };
  };
  const { ended: first, tried } = await broadcast();
  assertDone(first, { accepted: 2, dormant: 1 });
  assert.ok(tried.has(never));
  assert.deepEqual(await store.unlisted.dormantAmong([never, once]), [never]);

  away.add(once);
  const { ended: second, tried: triedAgain } = await broadcast(once);
  assertDone(second, { accepted: 1, dormant: 2 });
  assert.ok(!triedAgain.has(never), 'the one that is dormant is not tried');
  const [why] = await store.attempts.outcomesOf(second.id, [3]);
  assert.match(explain(why!), /^once\.example\.net .* waits, but .* is tried again at /);

  away.clear();
  await registerStrangers();
  assert.deepEqual(await store.unlisted.dormantAmong([never, once]), []);
  // it has waited for an hour at most
  passedMs += 3_600_000;
  const endWork = startWork(startSender(), (fault) => assert.fail(String(fault)));
  const accepted = async ({ id }: Broadcast) => (await store.broadcasts.get(id)).counts.accepted;
  await until(
    async () => (await accepted(first)) === 3 && (await accepted(second)) === 3,
    'all to be accepted',
  );
  await endWork();
  for (const { id, finishedAtMs } of [first, second]) {
    const ended = await store.broadcasts.get(id);
    assertDone(ended, { accepted: 3 });
    assert.equal(ended.finishedAtMs, finishedAtMs);
  }
});

test('a worker keeps to the rate of a host that nobody has listed where it has only rows that were put off', async (t) => {
  let nowMs = Date.UTC(2026, 10, 1);
  const now = () => nowMs;
  const { store, remove } = await openTestStore(now);
  t.after(remove);
  const { ntfy, senderOf } = await startStage(t);
  const policy = createEndpointPolicy('public');
  for (let number = 0; number < 20; number += 1) {
    const subscription = parseSubscription(subscriptionOf(topicOf('live', number)), policy);
    await store.subscriptions.put(subscription, keys.publicKey);
  }
  const { broadcast, stop } = await senderOf({ store, now }).broadcast('all', message);
  await until(async () => (await store.broadcasts.get(broadcast.id)).waiting === 20, 'all to be put off');
  await stop();
  nowMs += 5000;
  let isAsked = false;
  const take: typeof store.rates.take = (request) => {
    isAsked = true;
    return store.rates.take(request);
  };
  const next = await senderOf({ store: { ...store, rates: { take } }, now }).resume(broadcast.id);
  await until(() => isAsked || ntfy.posted.length > 0, 'a worker to ask for a share of the rate');
  await next.stop();
  assert.equal(ntfy.posted.length, 0, 'it has no share yet');
});

test('a broadcast gives a host that nobody has listed ten messages a second, or what the operator says', async (t) => {
  let nowMs = Date.UTC(2026, 10, 1);
  const { store, remove } = await openTestStore(() => nowMs);
  t.after(remove);
  for (const [rates, perSecond] of [
    [[], 10],
    [[[origin, 40]], 40],
  ] as const) {
    const limits = new RateLimits(new Map(rates), store.rates);
    let sent = 0;
    for (const endMs = nowMs + 5000; nowMs < endMs; nowMs += 50) {
      await limits.replenish(nowMs);
      for (let row = 0; row < 20; row += 1)
        sent += limits.admit(origin, true, nowMs, 10) === undefined ? 1 : 0;
    }
    assert.ok(sent >= perSecond * 4.5 && sent <= perSecond * 5.5, `${sent} at ${perSecond} a second`);
    assert.equal(limits.admit('https://fcm.googleapis.com', true, nowMs), undefined);
  }
});

const answerOf = (status: number, body: object, isUnlisted = true) => {
  const response = { status, headers: {}, body: JSON.stringify(body) };
  const outcome = readResponse(origin, response, { nowMs: 0, isUnlisted });
  return { kind: 'response', response, outcome } as const;
};
const rowOf = (attempts: number, expiresAtMs = 1e12) =>
  ({
    destination: { origin },
    broadcast: { expiresAtMs, ttlSeconds: 1e8 },
    tries: { attempts, deferrals: 0, expiresAtMs },
    sentAtMs: 0,
  }) as Row;

describe('what ntfy answers', () => {
  const record = {
    retryPolicy: defaultRetryPolicy,
    now: () => 0,
    random: () => 0,
    hold: () => assert.fail(),
  };
  const withoutSubscriber = answerOf(507, { code: 50701, http: 507, error: 'without subscriber' });

  test('429 holds the subscription; at a push service that is known or listed it holds all', () => {
    for (const isUnlisted of [true, false]) {
      const { outcome } = answerOf(429, { code: 42908, http: 429, error: 'limit' }, isUnlisted);
      assert.ok(outcome.kind === 'retry');
      assert.equal(outcome.slowsOrigin, !isUnlisted);
    }
  });

  test('507 for a topic without a subscriber ends it with the last attempt, twelve hours later at least', () => {
    let waitedMs = 0;
    for (let attempts = 0; attempts < defaultRetryPolicy.maxAttempts - 1; attempts += 1) {
      const { result, retry } = toRowResult(rowOf(attempts), withoutSubscriber, record);
      assert.equal(result, 'retry');
      waitedMs += retry!.delayMs;
    }
    assert.ok(waitedMs >= 12 * 3_600_000, String(waitedMs));
    const last = rowOf(defaultRetryPolicy.maxAttempts - 1);
    assert.equal(toRowResult(last, withoutSubscriber, record).result, 'gone');
    // a TTL that ends before the next attempt ends only the message
    assert.equal(toRowResult(rowOf(5, 3_600_000), withoutSubscriber, record).result, 'expired');
  });

  test('507 for a topic without a subscriber means the same where the server is listed', () => {
    const body = { code: 50701, http: 507, error: 'without subscriber' };
    assert.deepEqual(answerOf(507, body, false), withoutSubscriber);
  });

  test('any other 507 ends no subscription', () => {
    for (const body of [{}, { code: 507 }, { code: 507_011 }, { error: '50701' }]) {
      const last = rowOf(defaultRetryPolicy.maxAttempts - 1);
      assert.equal(toRowResult(last, answerOf(507, body), record).result, 'exhausted');
    }
  });
});

// The server. Its statuses, bodies and header fields are those of server/server.go and server/errors.go of binwiederhier/ntfy. What becomes
// of a message depends on its topic.

/** What both protocols' responses have. */
interface Response {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** What a topic is answered: `limited` as where its user's messages of the day are used up, `dead` without a subscriber. */
const topicOf = (state: 'live' | 'limited' | 'dead' | 'full', number: number): string =>
  `up${state}${String(number).padStart(12 - state.length, '0')}`;

const link = 'https://ntfy.sh/docs/publish/#limitations';
const errors = {
  limited: { code: 42908, http: 429, error: 'limit reached: daily message quota reached', link },
  dead: {
    code: 50701,
    http: 507,
    error: 'cannot publish to UnifiedPush topic without previously active subscriber',
  },
  // what another server might mean by 507
  full: { code: 1, http: 507, error: 'disk full' },
} as const;

/** @param options `inHand`: so many messages have come before any is answered. `others`: further hosts of its certificate */
async function startNtfyServer({ http2 = true, inHand = 1, others = [] as readonly string[] } = {}) {
  const { key, cert } = makeCertificate([host, ...others]);
  /** Topics, in order. */
  const posted: string[] = [];
  /** Of the bodies, which have arrived whole. */
  const contentEncodings = new Set<string | undefined>();
  let connections = 0;
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();

  const answer = async (request: IncomingMessage | Http2ServerRequest, response: Response): Promise<void> => {
    let bytes = 0;
    for await (const chunk of request) bytes += (chunk as Buffer).length;
    const { pathname, searchParams } = new URL(request.url!, `https://${host}`);
    const topic = pathname.slice(1);
    posted.push(topic);
    if (posted.length >= inHand) openGate();
    await gate;
    contentEncodings.add(request.headers['content-encoding']);
    const [, state] = /^up(limited|dead|full)/.exec(topic) ?? [];
    const error = errors[state as keyof typeof errors];
    const time = Math.floor(Date.now() / 1000);
    const event = { id: 'sPs71M8A2Tqv', time, expires: time + 43_200, event: 'message', topic };
    const body = error ?? { ...event, message: `${bytes} bytes`, encoding: 'base64' };
    response.writeHead(searchParams.get('up') === '1' ? (error?.http ?? 200) : 400, {
      'access-control-allow-origin': '*',
      'content-type': 'application/json',
    });
    response.end(`${JSON.stringify(body)}\n`);
  };

  const onRequest = (request: IncomingMessage | Http2ServerRequest, response: Response) =>
    void answer(request, response);
  const server = http2
    ? createSecureServer({ key, cert }, onRequest)
    : createHttpsServer({ key, cert }, onRequest);
  server.on('secureConnection', () => (connections += 1));
  const port = await listenOnNewPort(server);
  return {
    ca: [cert],
    port,
    posted,
    contentEncodings,
    get connections() {
      return connections;
    },
    close: () => new Promise((resolve) => void server.close(resolve)),
  };
}
