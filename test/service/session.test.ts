// Sessions and CSRF: who passes the authenticator, what a cookie that is not ours or not whole is worth, and which
// requests need a token.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  createSessionCookie,
  createSessionVault,
  type SessionCookie,
  sessionCookieName,
} from '../../src/service/demonstration/session.ts';
import {
  assertProblem,
  readDescription,
  sendJson,
  startService,
  startServiceForSuite,
} from './running-service.ts';

describe('the session', () => {
  const service = startServiceForSuite({ authenticate: 'all' });
  const logged = startServiceForSuite({ logging: ['authenticator', 'action-creator', 'action', 'filter'] });
  let alice: SessionCookie;

  before(async () => {
    alice = await createSessionCookie({ sessionKey: service.sessionKey, value: 'alice' });
  });

  const get = (cookie: string): Promise<Response> =>
    fetch(`${service.base}/api/get`, { headers: { cookie } });

  async function assertRefused(cookie: string): Promise<void> {
    await assertProblem(get(cookie), 401, 'ERR_UNAUTHENTICATED');
  }

  for (const [what, status, headers, body] of [
    ['is malformed', 400, { 'content-type': 'application/json' }, '{'],
    ['is no object', 400, { 'content-type': 'application/json' }, '7'],
    ['is too large', 413, { 'content-type': 'application/json' }, `"${'x'.repeat(20_000)}"`],
    ['has another type', 415, { 'content-type': 'text/plain' }, 'x'],
  ] as const) {
    test(`is judged before a body that ${what}`, async () => {
      logged.records.length = 0;
      const { cookie } = await createSessionCookie({ sessionKey: logged.sessionKey, value: 'x' });
      const post = (own: Record<string, string>): Promise<Response> =>
        fetch(`${logged.base}/api/post`, { method: 'POST', headers: { ...headers, ...own }, body });
      const { detail } = await assertProblem(post({}), 401, 'ERR_UNAUTHENTICATED');
      assert.equal(detail, 'The session has no entry SESSION.');
      assert.equal((await post({ cookie })).status, status);
      assert.deepEqual(
        logged.records.map((record) => [record['mechanism'], record['verdict'] ?? record['status']]),
        [
          ['authenticator', 'unauthenticated'],
          ['filter', 401],
          ['authenticator', 'pass'],
          ['filter', status],
        ],
      );
    });
  }

  test('passes among other cookies', async () => {
    assert.equal((await get(`a=b; ${alice.cookie}; c="d;e"`)).status, 200);
    assert.equal((await get(`x${sessionCookieName}=1; ${alice.cookie}`)).status, 200);
  });
  test('cannot be made for longer than a hundred years, nor for a time that is no number', async () => {
    for (const lifetimeSeconds of [1e10, 1e13, Number.MAX_SAFE_INTEGER, Infinity, NaN, -1]) {
      await assert.rejects(createSessionCookie({ sessionKey: service.sessionKey, lifetimeSeconds }), {
        code: 'ERR_CONFIGURATION',
        message: `"lifetimeSeconds" must be a number from 0 to 3155760000, not ${lifetimeSeconds}.`,
      });
    }
    await createSessionCookie({ sessionKey: service.sessionKey, lifetimeSeconds: 3_155_760_000 });
  });

  test('is valid for a day', async (t) => {
    const vault = createSessionVault(service.sessionKey);
    const sealed = alice.cookie.slice(sessionCookieName.length + 1);
    const dayMs = 86_400_000;
    const madeMs = Date.now();
    // it was made within the minute before
    t.mock.timers.enable({ apis: ['Date'], now: madeMs + dayMs - 60_000 });
    assert.equal((await vault.open(sealed))?.SESSION, 'alice');
    t.mock.timers.setTime(madeMs + dayMs);
    assert.equal(await vault.open(sealed), undefined);
  });

  const forgeries: Readonly<Record<string, (sealed: string) => string>> = {
    empty: () => '',
    'its JSON, unsealed': () => encodeURIComponent('{"SESSION":"alice"}'),
    'cut by one character': (sealed) => sealed.slice(0, -1),
    'cut to half': (sealed) => sealed.slice(0, sealed.length / 2),
    'no base64': (sealed) => `${sealed.slice(0, -4)}%%%%`,
  };
  for (const [what, forge] of Object.entries(forgeries)) {
    test(`is refused where the cookie is ${what}`, () =>
      assertRefused(`${sessionCookieName}=${forge(alice.cookie.slice(sessionCookieName.length + 1))}`));
  }

  test('is refused with any one bit of the cookie turned over', async () => {
    const parts = alice.cookie.slice(sessionCookieName.length + 1).split('.');
    const vault = createSessionVault(service.sessionKey);
    for (const [index, part] of parts.entries()) {
      const bytes = Buffer.from(part, 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const forged = Buffer.from(bytes);
        forged[bit >> 3]! ^= 1 << (bit & 7);
        const sealed = parts.with(index, forged.toString('base64url')).join('.');
        assert.equal(await vault.open(sealed), undefined);
      }
    }
    assert.equal((await vault.open(parts.join('.')))?.SESSION, 'alice');
  });

  test('is told to nobody by the cookie itself, and no two cookies are alike', async () => {
    const again = await createSessionCookie({ sessionKey: service.sessionKey, value: 'alice' });
    assert.notEqual(again.cookie, alice.cookie);
    assert.notEqual(again.csrfToken, alice.csrfToken);
    for (const part of alice.cookie.split(/[=.]/)) {
      assert.doesNotMatch(Buffer.from(part, 'base64url').toString('latin1'), /alice/);
    }
  });

  test('is to be set http-only, for the same site', () => {
    const [pair, ...attributes] = alice.setCookie.split('; ');
    assert.equal(pair, alice.cookie);
    assert.deepEqual(attributes, ['Path=/', 'Max-Age=86400', 'HttpOnly', 'SameSite=Lax']);
  });

  test('is never set by an answer', async () => {
    for (const path of ['/', '/api/get', '/vapidKey', '/nowhere']) {
      const response = await fetch(service.base + path, { headers: { cookie: alice.cookie } });
      assert.equal(response.headers.get('set-cookie'), null);
    }
  });

  test('that is present may be refused with 403 by the hook "authorize"', async (t) => {
    const picky = await startService(
      {
        authenticate: 'all',
        authorize: async (session, { method, url }) =>
          session === 'alice' || `${method} ${url}` === 'GET /api/getWithArg/open',
      },
      t,
    );
    const ask = async (value: string, path: string): Promise<Response> => {
      const { cookie } = await createSessionCookie({ sessionKey: picky.sessionKey, value });
      return fetch(picky.base + path, { headers: { cookie } });
    };
    const status = async (value: string, path: string): Promise<number> => (await ask(value, path)).status;
    const { detail } = await assertProblem(ask('bob', '/api/get'), 403, 'ERR_FORBIDDEN');
    assert.equal(detail, 'The session may not do this.');
    assert.equal(await status('alice', '/api/get'), 200);
    assert.equal(await status('', '/api/get'), 403);
    assert.equal(await status('bob', '/api/getWithArg/open'), 200);
    assert.equal((await fetch(`${picky.base}/api/get`)).status, 401);
  });

  test('that an action needs is in the description, of this action alone', async (t) => {
    const described = await startService({ authenticate: ['get'] }, t);
    const { paths } = await readDescription(described.base);
    const needed = paths['/api/get'].get;
    assert.deepEqual(needed.security, [{ session: [] }]);
    assert.match(JSON.stringify(needed.responses), /ERR_UNAUTHENTICATED.*ERR_FORBIDDEN/);
    const { responses, security } = paths['/api/getWithArg/{arg}'].get;
    assert.ok(!JSON.stringify(security ?? []).includes('session'));
    assert.doesNotMatch(JSON.stringify(responses), /ERR_UNAUTHENTICATED|ERR_FORBIDDEN/);
  });
});

describe('a request that may be forged', () => {
  const service = startServiceForSuite({ receiptKey: randomBytes(32), channels: true });
  let alice: SessionCookie;

  before(async () => {
    alice = await createSessionCookie({ sessionKey: service.sessionKey, value: 'alice' });
  });

  const update = { name: 'Ada', email: 'ada@example.org' };
  const put = (headers: Record<string, string>): Promise<Response> =>
    sendJson(service.base, 'PUT', '/v1/user/1', update, headers);

  test('passes without the session cookie', async () => {
    assert.equal((await put({})).status, 200);
    assert.equal((await put({ cookie: 'other=1' })).status, 200);
  });
  test('is refused with a token made under another key', async () => {
    const stranger = await createSessionCookie({ sessionKey: randomBytes(32), value: 'alice' });
    return assertForgeryRefused(put({ cookie: stranger.cookie, 'csrf-token': stranger.csrfToken }));
  });
  test('is refused with a token in the query or the body', async () => {
    const { cookie, csrfToken } = alice;
    await assertForgeryRefused(
      sendJson(
        service.base,
        'PUT',
        `/v1/user/1?_csrf=${csrfToken}`,
        { ...update, _csrf: csrfToken },
        { cookie },
      ),
    );
  });

  /** Method and path of each route that changes something. */
  const unsafeRoutes = async (): Promise<readonly (readonly [method: string, path: string])[]> => {
    const { paths } = await readDescription(service.base);
    const routes = Object.entries<object>(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => [method.toUpperCase(), path.replace(/\{.*\}/, '1')] as const),
    );
    return routes.filter(([method]) => method !== 'GET');
  };

  test('is refused without a token at each route that changes something, but for POST /api/post', async () => {
    const routes = await unsafeRoutes();
    assert.ok(routes.length >= 7, String(routes));
    for (const [method, path] of routes) {
      const answer = sendJson(service.base, method, path, {}, { cookie: alice.cookie });
      if (path === '/api/post') assert.equal((await answer).status, 200);
      else await assertForgeryRefused(answer);
    }
  });

  test('has a body of 16 KiB at most, at each route', async () => {
    const headers = { cookie: alice.cookie, 'csrf-token': alice.csrfToken };
    for (const [method, path] of await unsafeRoutes()) {
      const { status } = await sendJson(service.base, method, path, 'x'.repeat(16_383), headers);
      assert.equal(status, 413, `${method} ${path}`);
    }
  });

  test('passes for GET, HEAD and OPTIONS, which change nothing', async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const response = await fetch(`${service.base}/api/get`, { method, headers: { cookie: alice.cookie } });
      assert.ok(response.ok);
    }
  });
});

async function assertForgeryRefused(answer: Promise<Response>): Promise<void> {
  await assertProblem(answer, 403, 'ERR_CSRF');
}
