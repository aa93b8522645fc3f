// Registrations over HTTP: a stranger cannot change the keys of a row, what is refused leaves nothing, and limits of push services.
import assert from 'node:assert/strict';
import crypto, { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { before, beforeEach, describe, test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { OfferedSubscription, SubscribeHook } from '../../src/service/options.ts';
import { createSubscriberToken } from '../../src/service/push/subscriber-token.ts';
import type { Store } from '../../src/store/store.ts';
import { removeSubscriptions } from '../store/store-under-test.ts';
import {
  assertProblem,
  newSubscription,
  sendJson,
  startService,
  startServiceForSuite,
  vapidPublicKey,
} from './running-service.ts';
import { pluck } from '../../tools/pluck.ts';

const former = (value: object) => ({ 'deskbell-former-subscription': JSON.stringify(value) });

const refuse = () => {
  throw new DeskbellError('ERR_FORBIDDEN', 'Not invited.');
};
const saysNothing = () => undefined;

test('secrets are compared in constant time', async (t) => {
  const { base } = await startService({ channels: true, receiptKey: randomBytes(32) }, t);
  const { endpoint, p256dh, auth } = newSubscription();
  const compare = t.mock.method(crypto, 'timingSafeEqual');
  syncBuiltinESMExports();
  t.after(() => {
    compare.mock.restore();
    syncBuiltinESMExports();
  });
  const post = (keys: object, headers = {}) =>
    sendJson(base, 'POST', '/webPush', { endpoint, p256dh, auth, ...keys }, headers);
  const wrong = newSubscription().auth;
  const other = newSubscription();
  const mac = 'qKKYyO7lbDHvIAAAAAAAAA';
  const report = { receipts: [{ token: `AAAAAAAHAAAAABJn${mac}`, event: 'shown' }] };
  for (const [request, status, secret] of [
    [() => post({}), 200, undefined],
    [() => post({ auth: wrong }), 409, wrong],
    [() => post({ auth: other.auth }, former({ endpoint, auth: wrong })), 409, wrong],
    [() => post(other, former({ endpoint, auth: wrong })), 200, wrong],
    [
      () => post(newSubscription(), { ...former({ endpoint, auth: wrong }), 'deskbell-invitation': 'x' }),
      403,
      wrong,
    ],
    [() => sendJson(base, 'POST', '/webPush/channels', { endpoint, auth: wrong }), 200, wrong],
    [() => sendJson(base, 'POST', '/webPush/receipts', report), 204, Buffer.from(mac).toString('base64')],
    [() => sendJson(base, 'DELETE', '/webPush/user', { endpoint, auth: wrong }), 204, wrong],
    [() => sendJson(base, 'DELETE', '/webPush', { endpoint, auth: wrong }), 204, wrong],
  ] as const) {
    compare.mock.resetCalls();
    assert.equal((await request()).status, status);
    const given = compare.mock.calls.map(({ arguments: [, theirs] }) =>
      Buffer.from(theirs as Uint8Array).toString('base64'),
    );
    assert.equal(given.includes(secret ?? wrong), secret !== undefined);
  }
});

describe('a stranger who knows an endpoint', () => {
  const key = randomBytes(32);
  const audience = 'my-app';
  const tokenOf = async (user: string) => ({
    authorization: `Bearer ${await createSubscriberToken({ key, audience, user })}`,
  });
  const subscriberTokens = { algorithm: 'HS256', key, audience } as const;
  const service = startServiceForSuite({ subscriberTokens });

  const victim = newSubscription();
  const own = newSubscription();
  const mine = { ...newSubscription(), endpoint: victim.endpoint };
  const post = (subscription: object, headers?: Record<string, string>) =>
    sendJson(service.base, 'POST', '/webPush', subscription, headers);
  const rows = () => service.store.subscriptions.page({ afterId: 0, limit: 10 });
  before(async () => {
    assert.equal((await post(victim, await tokenOf('ada'))).status, 200);
    assert.equal((await post(own, await tokenOf('mallory'))).status, 200);
    service.records.length = 0;
  });

  const attempts: readonly (readonly [string, () => Promise<Response>])[] = [
    ['its own keys', () => post(mine)],
    ['its own keys, as toJSON() gives them', () => post({ endpoint: mine.endpoint, keys: mine })],
    ['its own keys and its own token', async () => post(mine, await tokenOf('mallory'))],
    ['its own keys and its own former subscription', () => post(mine, former(own))],
    ['its own keys as the former ones', () => post(mine, former(mine))],
  ];
  for (const [what, attempt] of attempts) {
    test(`does not get it with ${what}: 409, no change, and nothing of it on the console`, async () => {
      const stored = await rows();
      const text = JSON.stringify(await assertProblem(attempt(), 409, 'ERR_ENDPOINT_IN_USE'));
      assert.deepEqual(await rows(), stored);
      const records = JSON.stringify(service.records.filter(({ event }) => event !== undefined));
      for (const secret of [mine.endpoint, mine.auth, mine.p256dh, victim.auth]) {
        assert.ok(!(text + records).includes(secret));
      }
    });
  }

  test('is told apart from its browser and from its user', async () => {
    assert.equal((await post(mine, former(victim))).status, 200);
    assert.equal((await post(victim, await tokenOf('ada'))).status, 200);
    const found = await service.store.subscriptions.findByEndpoint(victim.endpoint);
    assert.deepEqual(
      [Buffer.from(found?.auth ?? []).toString('base64'), found?.id, found?.user],
      [victim.auth, 1, 'ada'],
    );
  });
});

describe('a registration that onSubscribe refuses', () => {
  let answer: () => ReturnType<SubscribeHook> = saysNothing;
  const offers: OfferedSubscription[] = [];
  const tokens = { key: randomBytes(32), audience: 'shop' };
  const service = startServiceForSuite({
    subscriberTokens: { algorithm: 'HS256', ...tokens },
    onSubscribe: (offered) => {
      offers.push(offered);
      return answer();
    },
  });
  const post = (subscription: object, headers?: Record<string, string>) =>
    sendJson(service.base, 'POST', '/webPush', subscription, headers);
  const rows = () => service.store.subscriptions.page({ afterId: 0, limit: 10 });
  const console = () => service.records.filter(({ event }) => event === 'subscription');

  beforeEach(async () => {
    answer = saysNothing;
    await removeSubscriptions(service.store);
    offers.length = 0;
    service.records.length = 0;
  });

  test('leaves no row and changes none, its former one included, and is not on the console', async () => {
    const stored = newSubscription();
    answer = () => ({ user: 'ada', tags: ['de'] });
    assert.equal((await post(stored)).status, 200);
    const [row] = await rows();
    service.records.length = 0;

    answer = refuse;
    for (const subscription of [newSubscription(), stored, { ...stored, p256dh: newSubscription().p256dh }]) {
      const response = await post(subscription, former(stored));
      assert.equal(response.status, 403);
      assert.deepEqual(await rows(), [row]);
    }
    assert.deepEqual(console(), []);
  });

  test('is answered with the status of an error that has one, and with its text only where that is for clients', async () => {
    for (const [thrown, status, code, detail] of [
      [{ statusCode: 403 }, 403, 'ERR_FORBIDDEN', 'Refused'],
      [{ statusCode: 403, expose: true }, 403, 'ERR_FORBIDDEN', 'row 7 of blocked'],
      [{ statusCode: 401 }, 401, 'ERR_UNAUTHENTICATED', 'No session'],
      [{ statusCode: 429 }, 429, 'ERR_RATE_LIMITED', 'Too many requests'],
      [{ statusCode: 422 }, 400, 'ERR_REQUEST_INVALID', 'The request is not valid'],
      [{ statusCode: 502, expose: true }, 500, 'ERR_INTERNAL', /the server log has the details/],
      [{ statusCode: '403', expose: true }, 500, 'ERR_INTERNAL', /the server log has the details/],
      [{ statusCode: 'constructor', code: 'constructor' }, 500, 'ERR_INTERNAL', /the server log/],
      [{}, 500, 'ERR_INTERNAL', /the server log has the details/],
    ] as const) {
      answer = () => {
        throw Object.assign(new Error('row 7 of blocked'), thrown);
      };
      const response = await post(newSubscription());
      const problem = (await response.json()) as { readonly code: string; readonly detail: string };
      assert.deepEqual([response.status, problem.code], [status, code]);
      if (typeof detail === 'string') assert.equal(problem.detail, detail);
      else assert.match(problem.detail, detail);
    }
    assert.deepEqual(await rows(), []);
  });

  test('is known by what it will be: a new one has no id, and the user of its token, of its row or of the one it replaces', async () => {
    const first = newSubscription();
    answer = () => ({ user: 'ada', tags: ['de'] });
    await post(first);
    answer = saysNothing;
    await post(first);
    const next = newSubscription();
    await post(next, former({ ...first, auth: newSubscription().auth }));
    await post(next, former(first));
    const [id, nextId] = (await rows()).map((row) => row.id);
    // tags of its own are enough for it to keep them
    await service.store.people.assign(id!, { tags: ['own'] });
    await post(first, former(next));
    const authorization = `Bearer ${await createSubscriberToken({ ...tokens, user: 'eve' })}`;
    await post(first, { ...former(next), authorization });
    const ada = { user: 'ada', tags: ['de'] };
    const nobody = { user: undefined, tags: [] };
    assert.deepEqual(
      offers.map(({ endpoint, id: offered, user, tags }) => ({ endpoint, id: offered, user, tags })),
      [
        { endpoint: first.endpoint, id: undefined, ...nobody },
        { endpoint: first.endpoint, id, ...ada },
        { endpoint: next.endpoint, id: undefined, ...nobody },
        { endpoint: next.endpoint, id: nextId, ...ada },
        { endpoint: first.endpoint, id, user: undefined, tags: ['own'] },
        { endpoint: first.endpoint, id, user: 'eve', tags: [] },
      ],
    );
    answer = () => ({ user: 'bob' });
    await post(first, { authorization });
    assert.equal((await rows())[0]?.user, 'bob', 'what it returns holds before the token');
  });

  test('is not asked about where the endpoint is another one’s, also when that comes while it thinks', async () => {
    const subscription = newSubscription();
    const other = { ...newSubscription(), endpoint: subscription.endpoint };
    answer = async () => {
      answer = saysNothing;
      assert.equal((await post(other)).status, 200);
      return { user: 'ada' };
    };
    assert.equal((await post(subscription)).status, 409);
    assert.deepEqual(
      (await rows()).map(({ user, auth }) => [user, Buffer.from(auth).toString('base64')]),
      [[undefined, other.auth]],
    );
    assert.equal(offers.length, 2);
    assert.equal((await post(subscription)).status, 409);
    assert.equal(offers.length, 2);
    assert.deepEqual(console(), [{ event: 'subscription', ...other }]);
  });
});

test('the console line is written out after the row is stored and before the answer, once for rows of one turn', async (t) => {
  const steps: string[] = [];
  const responses: ServerResponse[] = [];
  const { app, store, base } = await startService(
    {
      log: {
        info: (record) => {
          if ('event' in record && record.event === 'subscription') steps.push('line');
        },
        error: () => {},
        flush: () => steps.push(responses.some(({ headersSent }) => headersSent) ? 'late flush' : 'flush'),
      },
    },
    t,
  );
  app.server.on('request', (_request, response) => responses.push(response));
  const { register } = store.subscriptions;
  const together = Promise.withResolvers<void>();
  t.mock.method(store.subscriptions, 'register', async (...given: Parameters<typeof register>) => {
    const stored = await register(...given);
    steps.push('stored');
    if (steps.length === 3) together.resolve();
    await together.promise;
    return stored;
  });
  const post = () => sendJson(base, 'POST', '/webPush', newSubscription());
  const answers = await Promise.all([post(), post(), post()]);
  assert.deepEqual(pluck(answers, 'status'), [200, 200, 200]);
  const each = (step: string) => Array.from(answers, () => step);
  assert.deepEqual(steps, [...each('stored'), ...each('line'), 'flush'], 'one write for all');
});

// Registrations of push services that nobody has listed: how many of each in a minute, and of how many.

const subscriptionOf = (host: string) => ({
  ...newSubscription(),
  endpoint: `https://${host}/up${Math.random().toString(36).slice(2)}?up=1`,
});

async function codeOf(response: Response): Promise<string | undefined> {
  if (response.status === 200) return undefined;
  return `${response.status} ${((await response.json()) as { code: string }).code}`;
}

/** Each of them accepts a message. */
async function accept({ ledger }: Store, ...hosts: readonly string[]): Promise<void> {
  const answer = { vapidPublicKey, accepted: 1, hasRefused: false, refusalsInRow: 0 };
  const answers = hosts.map((host) => ({ origin: `https://${host}`, ...answer }));
  await ledger.recordAnswers({ id: randomUUID(), origins: [], answers });
}

test('beyond the number of push services a further one is refused; listed and known ones are no part of it', async (t) => {
  const pushServices = ['public', 'https://listed.example.org'];
  const { base, store } = await startService({ pushServices, maxPushServices: 2 }, t);
  const register = async (host: string, row: object = subscriptionOf(host)) =>
    codeOf(await sendJson(base, 'POST', '/webPush', row));
  const first = subscriptionOf('one.example.net');
  assert.equal(await register('', first), undefined);
  assert.equal(await register('two.example.net'), undefined);
  await accept(store, 'one.example.net', 'two.example.net');
  assert.equal(await register('three.example.net'), '503 ERR_PUSH_SERVICE_LIMIT');
  for (const host of ['two.example.net', 'listed.example.org', 'fcm.googleapis.com']) {
    assert.equal(await register(host), undefined, host);
  }
  assert.equal(await register('', first), undefined, 'one that is stored may always be sent again');
});

test('made-up hosts take no place from those that accept messages, nor keep one from others', async (t) => {
  const { base, store } = await startService({ pushServices: 'public', maxPushServices: 3 }, t);
  const register = async (host: string, row: object = subscriptionOf(host)) =>
    codeOf(await sendJson(base, 'POST', '/webPush', row));
  const mine = subscriptionOf('mine.example.org');
  assert.equal(await register('', mine), undefined);
  await register('good.example.org');
  await accept(store, 'good.example.org');
  for (let number = 1; number <= 10; number += 1)
    assert.equal(await register(`n${number}.example.net`), undefined);
  assert.deepEqual(
    (await store.unlisted.list()).map((origin) => new URL(origin).host),
    ['good.example.org', 'n10.example.net', 'n9.example.net'],
  );
  assert.equal(await store.subscriptions.count(), 12);
  assert.equal(await register('', mine), undefined);
  assert.ok((await store.unlisted.list()).includes('https://mine.example.org'));
});

test('a hundred push services that nobody has listed may have subscriptions, where nothing else is configured', async (t) => {
  const { base, records, store } = await startService({ pushServices: 'public' }, t);
  const codes = [];
  for (let number = 1; number <= 101; number += 1) {
    const host = `n${number}.example.net`;
    if (number <= 100) {
      await store.unlisted.add(`https://${host}`, 100);
      await accept(store, host);
    }
    codes.push(await codeOf(await sendJson(base, 'POST', '/webPush', subscriptionOf(host))));
  }
  assert.deepEqual(codes, [...Array.from({ length: 100 }, () => undefined), '503 ERR_PUSH_SERVICE_LIMIT']);
  // a warning, an information, and no fault with a stack
  const told = records.filter(({ event }) => event !== undefined && event !== 'subscription');
  assert.deepEqual(
    told.map(({ event, pushServices, code }) => [event, pushServices ?? code]),
    [
      ['push-services-nearly-full', 90],
      ['limit', 'ERR_PUSH_SERVICE_LIMIT'],
    ],
  );
});

test('more than sixty new subscriptions of one push service in a minute are refused; others and stored ones are not', async (t) => {
  const { base } = await startService({ pushServices: 'public' }, t);
  const post = (row: object) => sendJson(base, 'POST', '/webPush', row);
  const register = async (row: object) => codeOf(await post(row));
  const startedMs = performance.now();
  const rows = Array.from({ length: 60 }, () => subscriptionOf('up.example.net'));
  const codes = await Promise.all(rows.map(register));
  assert.deepEqual(new Set(codes), new Set([undefined]));
  const refused = await post(subscriptionOf('up.example.net'));
  const { code, detail } = (await refused.json()) as { code: string; detail: string };
  assert.deepEqual([refused.status, code], [429, 'ERR_RATE_LIMITED']);
  const waitSeconds = Number(/wait (\d+) s\.$/.exec(detail)?.[1]);
  const passedSeconds = (performance.now() - startedMs) / 1000;
  assert.equal(refused.headers.get('retry-after'), String(waitSeconds));
  assert.ok(waitSeconds <= 60 && waitSeconds >= Math.floor(60 - passedSeconds), detail);
  assert.equal(await register(rows[0]!), undefined);
  assert.equal(await register(subscriptionOf('other.example.net')), undefined);
  assert.equal(
    await register(subscriptionOf('up.example.net:8443')),
    undefined,
    'another port is another one',
  );
  assert.equal(await register(subscriptionOf('fcm.googleapis.com')), undefined);
});
