// Whose a subscription is: subscriber tokens, what the application's hook returns, signing out, and browsers that had to
// subscribe anew.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSubscriberToken } from '../../src/service/push/subscriber-token.ts';
import {
  assertProblem,
  newSubscription,
  readDescription,
  type RunningService,
  sendJson,
  startService,
  startServiceForSuite,
} from './running-service.ts';

const key = randomBytes(32);
const audience = 'my-app';
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const claims = () => ({ sub: '42', tags: ['beta', 'de'], aud: audience, exp: inSeconds(600) });
const anonymous = { user: undefined, tags: [] };

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token of another implementation than ours: an application may write it by hand. */
function eddsaToken(payload: object, header: object = { alg: 'EdDSA', typ: 'JWT' }): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
}

async function ownerOf({ store }: RunningService, endpoint: string) {
  const row = await store.subscriptions.findByEndpoint(endpoint);
  return row && { user: row.user, tags: row.tags };
}

const post = (
  { base }: RunningService,
  subscription: ReturnType<typeof newSubscription>,
  headers: Record<string, string> = {},
) => sendJson(base, 'POST', '/webPush', subscription, headers);

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const hs256 = (changes: Partial<Parameters<typeof createSubscriberToken>[0]> = {}) =>
  createSubscriberToken({ key, audience, user: '42', tags: ['de', 'beta'], ...changes });

/** Makes a stored subscription one of the user 42. */
async function assign({ store }: RunningService, endpoint: string): Promise<void> {
  const row = await store.subscriptions.findByEndpoint(endpoint);
  await store.people.assign(row!.id, { user: '42', tags: ['de'] });
}

/** A registration with these headers is taken, and a known subscription stays whose it is. */
async function assertIgnored(service: RunningService, headers: Record<string, string>): Promise<void> {
  const subscription = newSubscription();
  assert.equal((await post(service, subscription, headers)).status, 200);
  assert.deepEqual(await ownerOf(service, subscription.endpoint), anonymous);
  await assign(service, subscription.endpoint);
  assert.equal((await post(service, subscription, headers)).status, 200);
  assert.deepEqual(await ownerOf(service, subscription.endpoint), { user: '42', tags: ['de'] });
}

/** When a token ends that was made for so long. */
async function endOf(lifetimeSeconds?: number): Promise<number> {
  const [, payload = ''] = (await hs256({ lifetimeSeconds })).split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp: number }).exp;
}

/** With the right key, and a digest of another length. */
function hmacToken(bits: 384 | 512): string {
  const text = `${part({ alg: `HS${bits}` })}.${part(claims())}`;
  return `${text}.${createHmac(`sha${bits}`, key).update(text).digest('base64url')}`;
}

const forged = () => `${part({ alg: 'none' })}.${part(claims())}.`;

describe('a subscriber token', () => {
  const service = startServiceForSuite({ subscriberTokens: { algorithm: 'HS256', key, audience } });

  test('sets user and tags; a registration without one leaves them; another user replaces both', async () => {
    const subscription = newSubscription();
    assert.equal((await post(service, subscription, bearer(await hs256()))).status, 200);
    assert.deepEqual(await ownerOf(service, subscription.endpoint), { user: '42', tags: ['beta', 'de'] });
    assert.equal((await post(service, subscription)).status, 200);
    assert.deepEqual(await ownerOf(service, subscription.endpoint), { user: '42', tags: ['beta', 'de'] });
    const other = await hs256({ user: '43', tags: undefined });
    assert.equal((await post(service, subscription, { authorization: `bearer ${other}` })).status, 200);
    assert.deepEqual(await ownerOf(service, subscription.endpoint), { user: '43', tags: [] });
  });

  test('alone says whose a subscription is: nothing of the body does', async () => {
    const subscription = newSubscription();
    const body = { ...subscription, user: 'ada', tags: ['news'], assign: { user: 'ada' }, sub: 'ada' };
    assert.equal((await sendJson(service.base, 'POST', '/webPush', body)).status, 200);
    const row = await service.store.subscriptions.findByEndpoint(subscription.endpoint);
    assert.deepEqual([row?.user, row?.tags], [undefined, []]);
  });

  test('is not asked for, and other schemes are ignored', async () => {
    for (const headers of [{}, { authorization: 'Basic YTpi' }, { authorization: 'BearerX y' }]) {
      await assertIgnored(service, headers);
    }
  });

  const now = Math.floor(Date.now() / 1000);
  const refusals: readonly (readonly [string, () => Promise<string> | string, RegExp])[] = [
    ['is no JWT', () => 'abc', /It is not a signed JWT\./],
    ['is empty', () => '', /It is not a signed JWT\./],
    ['is unsigned', forged, /It is not signed with HS256\./],
    ['is signed with another algorithm', () => eddsaToken(claims()), /It is not signed with HS256\./],
    ['is signed with HS384', () => hmacToken(384), /It is not signed with HS256\./],
    ['is signed with HS512', () => hmacToken(512), /It is not signed with HS256\./],
    ['is signed with another key', () => hs256({ key: randomBytes(32) }), /Its signature is wrong\./],
    ['is for somebody else', () => hs256({ audience: 'other' }), /Its "aud" is not "my-app"\./],
  ];
  for (const [what, make, detail] of refusals) {
    test(`that ${what} is a 401 that says why, and stores nothing`, async () => {
      const subscription = newSubscription();
      const response = await post(service, subscription, bearer(await make()));
      assert.equal(response.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
      assert.match((await assertProblem(response, 401, 'ERR_SUBSCRIBER_TOKEN')).detail, detail);
      assert.equal(await ownerOf(service, subscription.endpoint), undefined);
    });
  }

  test('is described with the service', async () => {
    const document = await readDescription(service.base);
    assert.equal(document.components.securitySchemes.subscriberToken.scheme, 'bearer');
    const alternatives = [{}, { subscriberToken: [] }, { session: [], csrfToken: [] }];
    assert.deepEqual(document.paths['/webPush'].post.security, alternatives);
    assert.ok(document.paths['/webPush'].post.responses[401]);
    assert.ok(document.paths['/webPush/user'].delete);
  });

  test('is made for an hour at most, and with a user', async () => {
    for (const [changes, code] of [
      [{ lifetimeSeconds: 3601 }, 'ERR_FIELD_VALUE'],
      [{ lifetimeSeconds: 0 }, 'ERR_FIELD_VALUE'],
      [{ user: '' }, 'ERR_FIELD_VALUE'],
      [{ tags: ['a b'] }, 'ERR_FIELD_VALUE'],
    ] as const) {
      await assert.rejects(hs256(changes), { code });
    }
    for (const lifetimeSeconds of [undefined, 3600]) assert.ok((await endOf(lifetimeSeconds)) >= now + 3600);
    const shortest = await endOf(1);
    assert.ok(shortest <= inSeconds(1));
  });
});

describe("a subscriber token with the application's own key", () => {
  const service = startServiceForSuite({
    subscriberTokens: { algorithm: 'EdDSA', publicKey: pem, audience },
    pushOnly: true,
  });

  test('sets user and tags', async () => {
    for (const alg of ['EdDSA', 'Ed25519']) {
      const subscription = newSubscription();
      const token = eddsaToken({ ...claims(), aud: ['other', audience] }, { alg });
      assert.equal((await post(service, subscription, bearer(token))).status, 200);
      assert.deepEqual(await ownerOf(service, subscription.endpoint), { user: '42', tags: ['beta', 'de'] });
    }
    const subscription = newSubscription();
    const noTags = eddsaToken({ ...claims(), tags: null });
    assert.equal((await post(service, subscription, bearer(noTags))).status, 200);
    assert.deepEqual(await ownerOf(service, subscription.endpoint), { user: '42', tags: [] });
  });

  test('is taken by clocks that differ by a minute at most', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: inSeconds(0) * 1000 });
    for (const [seconds, status] of [
      [-60, 401],
      [-59, 200],
      [3660, 200],
      [3661, 401],
    ] as const) {
      const token = eddsaToken({ ...claims(), exp: inSeconds(seconds) });
      assert.equal((await post(service, newSubscription(), bearer(token))).status, status, `${seconds} s`);
    }
  });

  const refusals: readonly (readonly [string, () => Promise<string> | string, RegExp])[] = [
    ['is signed with HS256', () => hs256(), /It is not signed with EdDSA\./],
    [
      'is signed with the public key as a secret',
      () => hs256({ key: Buffer.from(pem) }),
      /It is not signed with EdDSA\./,
    ],
    ['has expired', () => eddsaToken({ ...claims(), exp: inSeconds(-70) }), /It has expired\./],
    ['has no end', () => eddsaToken({ ...claims(), exp: undefined }), /It has no "exp"\./],
    [
      'ends too late',
      () => eddsaToken({ ...claims(), exp: inSeconds(3700) }),
      /It is valid for more than an hour\./,
    ],
    ['names no audience', () => eddsaToken({ ...claims(), aud: undefined }), /It has no "aud"\./],
    ['names nobody', () => eddsaToken({ ...claims(), sub: undefined }), /It has no "sub"\./],
    ['names a user that is too long', () => eddsaToken({ ...claims(), sub: 'x'.repeat(129) }), /129 bytes/],
    ['has a number for a user', () => eddsaToken({ ...claims(), sub: 42 }), /The user must be a string\./],
    ['has a wrong tag', () => eddsaToken({ ...claims(), tags: ['a b'] }), /A tag must be/],
    ['has text for tags', () => eddsaToken({ ...claims(), tags: 'beta' }), /Tags must be an array/],
    ['is not valid yet', () => eddsaToken({ ...claims(), nbf: inSeconds(600) }), /Its "nbf" is not valid\./],
  ];
  for (const [what, make, detail] of refusals) {
    test(`that ${what} is a 401 that says why`, async () => {
      const refused = post(service, newSubscription(), bearer(await make()));
      assert.match((await assertProblem(refused, 401, 'ERR_SUBSCRIBER_TOKEN')).detail, detail);
    });
  }
});

describe('without subscriber tokens', () => {
  const service = startServiceForSuite();

  test('the header Authorization is ignored', async () => {
    for (const headers of [bearer('nonsense'), { authorization: 'Basic YTpi' }]) {
      await assertIgnored(service, headers);
    }
    const document = await readDescription(service.base);
    const alternatives = [{}, { session: [], csrfToken: [] }];
    assert.deepEqual(document.paths['/webPush'].post.security, alternatives);
    assert.equal(document.components.securitySchemes.subscriberToken, undefined);
  });

  test('a former subscription that cannot be read is a 400', async () => {
    for (const value of [
      '',
      '{',
      'null',
      '[]',
      '{"endpoint":1,"auth":"AA"}',
      '{"endpoint":"x","auth":"!"}',
    ]) {
      const refused = post(service, newSubscription(), { 'deskbell-former-subscription': value });
      const { detail } = await assertProblem(refused, 400, 'ERR_REQUEST_INVALID');
      assert.match(detail, /Deskbell-Former-Subscription must be JSON/);
    }
  });
});

test('what onSubscribe returns replaces user and tags; anything else leaves them', async (t) => {
  let result: unknown;
  const seen: unknown[] = [];
  const service = await startService(
    {
      onSubscribe: async ({ user, tags }) => {
        seen.push({ user, tags });
        return result as undefined;
      },
    },
    t,
  );
  const subscription = newSubscription();
  const postWith = async (value: unknown) => {
    result = value;
    const { status } = await post(service, subscription);
    return { status, owner: await ownerOf(service, subscription.endpoint) };
  };
  const de = { user: '42', tags: ['de'] };
  assert.deepEqual(await postWith({ user: '42', tags: ['de'] }), { status: 200, owner: de });
  for (const value of [undefined, null, 1, { rowCount: 1 }]) {
    assert.deepEqual(await postWith(value), { status: 200, owner: de });
  }
  assert.deepEqual(seen.at(-1), de);
  assert.deepEqual(await postWith({ tags: ['fr'] }), {
    status: 200,
    owner: { user: undefined, tags: ['fr'] },
  });
  assert.equal((await postWith({ user: 42 })).status, 500);
  assert.match(
    JSON.stringify(service.records.map(({ error }) => String(error))),
    /The user must be a string/,
  );
});

test('options of subscriber tokens that are not usable are named', async () => {
  const others = [
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('ed448'),
    generateKeyPairSync('x25519'),
  ].map(({ publicKey: other }) => other.export({ format: 'pem', type: 'spki' }).toString());
  for (const [tokens, name] of [
    [{ algorithm: 'HS256', key: randomBytes(31), audience }, 'key'],
    [{ algorithm: 'HS256', key: 'text', audience }, 'key'],
    [{ algorithm: 'HS256', key, audience: '' }, 'audience'],
    [{ algorithm: 'HS512', key, audience }, 'algorithm'],
    [{ algorithm: 'EdDSA', publicKey: 'PEM', audience }, 'publicKey'],
    ...others.map((other) => [{ algorithm: 'EdDSA', publicKey: other, audience }, 'publicKey'] as const),
  ] as const) {
    await assert.rejects(
      async () => {
        const service = await startService({ subscriberTokens: tokens as never });
        await service.close();
      },
      { code: 'ERR_CONFIGURATION', message: new RegExp(`"subscriberTokens\\.${name}"`) },
    );
  }
});
