// What holds for every path: unknown ones, methods, HEAD, conditional requests, the limit on registrations, health.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import {
  assertProblem,
  newSubscription,
  sendJson,
  startService,
  startServiceForSuite,
} from './running-service.ts';

const clientFiles = [
  ['/', 'text/html'],
  ['/client/demo/demo.js', 'text/javascript'],
  ['/client/demo/demo.css', 'text/css'],
  ['/client/demo/icon.svg', 'image/svg+xml'],
  ['/client/demo/icon.png', 'image/png'],
  ['/preferences', 'text/html'],
  ['/client/preferences/preferences.js', 'text/javascript'],
  ['/client/preferences/preferences.css', 'text/css'],
  ['/manifest.webmanifest', 'application/manifest+json'],
  ['/invitation.webmanifest', 'application/manifest+json'],
  ['/client/index.js', 'text/javascript'],
  ['/client/subscribe.js', 'text/javascript'],
  ['/client/subscribe/languages.js', 'text/javascript'],
  ['/service-worker.js', 'text/javascript'],
  ['/docs', 'text/html'],
  ['/docs/docs.js', 'text/javascript'],
  ['/docs/docs.css', 'text/css'],
  ['/docs/icon.svg', 'image/svg+xml'],
] as const;

/** What a policy permits to be loaded, framed or posted to beside the page's own origin and data in the page itself. */
const sourcesElsewhere = (policy: string): readonly string[] =>
  policy
    .split('; ')
    .filter((directive) => /-(?:src|uri|action|ancestors) /.test(directive))
    .flatMap((directive) => directive.split(' ').slice(1))
    .filter((source) => !["'self'", "'none'", 'data:'].includes(source));

const sorted = (allow: string | null): string => (allow ?? '').split(', ').sort().join(', ');

describe('the service', () => {
  const service = startServiceForSuite({ channels: true });

  const allowed: Readonly<Record<string, string>> = {
    '/vapidKey': 'GET, HEAD, OPTIONS',
    '/webPush': 'DELETE, OPTIONS, POST',
    '/api/get': 'GET, HEAD, OPTIONS',
    '/api/getWithArg/x': 'GET, HEAD, OPTIONS',
    '/api/post': 'OPTIONS, POST',
    '/v1/user/1': 'GET, HEAD, OPTIONS, PUT',
    '/healthz': 'GET, HEAD, OPTIONS',
    '/openapi.json': 'GET, HEAD, OPTIONS',
    '/': 'GET, HEAD, OPTIONS',
  };

  for (const [path, allow] of Object.entries(allowed)) {
    test(`a method that ${path} does not take is a 405 that names ${allow}, as OPTIONS does`, async () => {
      const response = await fetch(`${service.base}${path}?q=1`, {
        method: 'PATCH',
        headers: { 'content-type': 'text/plain' },
        body: 'not even JSON',
      });
      assert.equal(sorted(response.headers.get('allow')), allow);
      await assertProblem(response, 405, 'ERR_METHOD_NOT_ALLOWED');
      const options = await fetch(service.base + path, { method: 'OPTIONS' });
      assert.equal(options.status, 204);
      assert.equal(sorted(options.headers.get('allow')), allow);
    });
  }

  test('the manifest of an invitation leaves the start URL to the page, whose address has the token', async () => {
    const ofPage = await fetch(`${service.base}/manifest.webmanifest`);
    const ofInvitation = await fetch(`${service.base}/invitation.webmanifest`);
    const { start_url: startUrl, ...others } = (await ofPage.json()) as Record<string, unknown>;
    assert.equal(startUrl, './');
    assert.deepEqual(await ofInvitation.json(), others);
  });

  for (const path of [
    '/nowhere',
    '/vapidkey',
    '/vapidKey/',
    '/api',
    '/api/getWithArg/a/b',
    '/..%2fetc/passwd',
    '/client/../package.json',
    '/client/demo/demo.ts',
    '/.git/config',
  ]) {
    test(`${path} is a 404`, async () => {
      const { type } = await assertProblem(fetch(service.base + path), 404, 'ERR_ROUTE_UNKNOWN');
      assert.equal(type, 'urn:deskbell:error:ERR_ROUTE_UNKNOWN');
    });
  }

  test('GET /vapidKey is a 304 to whoever has it', async () => {
    const etag = (await fetch(`${service.base}/vapidKey`)).headers.get('etag')!;
    assert.match(etag, /^"[^"]+"$/);
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await fetch(`${service.base}/vapidKey`, { headers: { 'if-none-match': tags } });
      assert.equal(response.status, 304);
      assert.equal(response.headers.get('etag'), etag);
      assert.equal(response.headers.get('cache-control'), 'no-cache');
      assert.equal(await response.text(), '');
    }
    const response = await fetch(`${service.base}/vapidKey`, { headers: { 'if-none-match': '"other"' } });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('cache-control'), 'no-cache', 'never to be used stale');
  });

  test('HEAD answers like GET, without the body', async () => {
    for (const path of ['/vapidKey', '/api/get', '/healthz', '/openapi.json', '/', '/v1/user/1']) {
      const get = await fetch(service.base + path);
      const body = await get.text();
      const head = await fetch(service.base + path, { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
      assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(body)));
      assert.equal(await head.text(), '');
    }
  });

  for (const [path, type] of clientFiles) {
    test(`GET ${path} answers ${type} that loads nothing from another host`, async () => {
      const response = await fetch(service.base + path);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type')?.split(';')[0], type);
      const policy = response.headers.get('content-security-policy')!;
      assert.match(policy, /^default-src '(self|none)'; .*frame-ancestors 'none'/);
      assert.deepEqual(sourcesElsewhere(policy), []);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
      const body = Buffer.from(await response.arrayBuffer());
      if (type === 'text/html')
        assert.doesNotMatch(body.toString(), /(src|href)="(https?:|\/)/, 'all addresses are relative');
      const etag = response.headers.get('etag')!;
      assert.ok(etag.includes(createHash('sha256').update(body).digest('base64url').slice(0, 22)));
      const again = await fetch(service.base + path, { headers: { 'if-none-match': etag } });
      assert.equal(again.status, 304);
    });
  }

  test('/docs/ leads to /docs under a prefix, and all addresses in the page lead somewhere', async (t) => {
    const { base } = await startService({ prefix: '/deep/push' }, t);
    const response = await fetch(`${base}/docs/`);
    assert.deepEqual([response.status, response.url], [200, `${base}/docs`]);
    const page = await response.text();
    for (const [, address = ''] of page.matchAll(/(?:href|src)="([^"#]+)"/g))
      assert.equal((await fetch(new URL(address, response.url))).status, 200, address);
  });

  test('scripts are served as JavaScript whose imports are served, too', async () => {
    for (const path of ['/client/demo/demo.js', '/client/index.js', '/service-worker.js']) {
      const code = await (await fetch(service.base + path)).text();
      for (const [, specifier = ''] of code.matchAll(/\bfrom\s*['"]([^'"]+)['"]/g)) {
        assert.match(specifier, /^\..*\.js$/);
        const imported = await fetch(new URL(specifier, service.base + path));
        assert.equal(imported.status, 200, specifier);
      }
    }
  });

  test('/healthz says that the process lives, /readyz that the store does', async () => {
    assert.deepEqual(await (await fetch(`${service.base}/healthz`)).json(), { status: 'live' });
    assert.deepEqual(await (await fetch(`${service.base}/readyz`)).json(), { status: 'ready' });
    await service.store.sending.pause('asked');
    const paused = await fetch(`${service.base}/readyz`);
    const answer = [paused.status, await paused.json()];
    await service.store.sending.resume({ withBroadcasts: false });
    assert.deepEqual(answer, [200, { status: 'ready', warnings: ['sending-paused'] }]);
  });

  test('/readyz is a 503 and /healthz is not where the store cannot be reached', async (t) => {
    const broken = await startService({}, t);
    await broken.store.close();
    await assertProblem(fetch(`${broken.base}/readyz`), 503, 'ERR_NOT_READY');
    assert.equal((await fetch(`${broken.base}/healthz`)).status, 200);

    // one that can be read alone, as on a full disk
    const { store } = await startService({}, t);
    const readOnly = await startService({ store: { ...store, check: broken.store.check } }, t);
    assert.equal((await fetch(`${readOnly.base}/readyz`)).status, 503);
  });

  for (const error of [
    new Error('the password is swordfish'),
    new DeskbellError('ERR_STORE_CORRUPT', 'The file swordfish is damaged.'),
  ]) {
    test(`a 5xx shows no internals of ${error.name}; the log has them`, async (t) => {
      const broken = await startService({ onSubscribe: () => Promise.reject(error) }, t);
      const response = await sendJson(broken.base, 'POST', '/webPush', newSubscription());
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      const problem = await assertProblem(response, 500, 'ERR_INTERNAL');
      assert.doesNotMatch(JSON.stringify(problem), /swordfish|password|CORRUPT|damaged|\bat\b.*\.ts/);
      assert.equal(broken.records.find(({ event }) => event === 'fault')?.['error'], error);
    });
  }
});

describe('POST /webPush', () => {
  test('is limited per client address where it is configured, and says how long to wait', async (t) => {
    const service = await startService({ registrationsPerMinute: 3 }, t);
    const statuses: number[] = [];
    let last: Response | undefined;
    const startedMs = performance.now();
    for (let count = 0; count < 5; count += 1) {
      // whichever page sends it, and whatever address it makes up
      const headers = { origin: `https://page-${count}.example`, 'x-forwarded-for': `192.0.2.${count}` };
      last = await sendJson(service.base, 'POST', '/webPush', newSubscription(), headers);
      statuses.push(last.status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
    const waitSeconds = last!.headers.get('retry-after')!;
    assert.match(waitSeconds, /^[1-9]\d?$/);
    // the minute has begun with the first of them
    const passedSeconds = (performance.now() - startedMs) / 1000;
    assert.ok(
      Number(waitSeconds) <= 60 && Number(waitSeconds) >= Math.floor(60 - passedSeconds),
      waitSeconds,
    );
    await assertProblem(last!, 429, 'ERR_RATE_LIMITED');
    assert.equal(await service.store.subscriptions.count(), 3);
    // Nothing else is limited.
    for (let count = 0; count < 10; count += 1) {
      assert.equal((await fetch(`${service.base}/vapidKey`)).status, 200);
    }
    const left = await sendJson(service.base, 'DELETE', '/webPush', { endpoint: 'x', auth: 'x' });
    assert.equal(left.status, 204);
  });

  test('counts one client once, however a proxy writes its address', async (t) => {
    const clients = [
      [
        '192.0.2.1',
        '192.0.2.1:5678',
        '198.51.100.9, 192.0.2.1:81',
        '::ffff:192.0.2.1',
        '[::ffff:c000:201]:9',
        '64:ff9b::c000:201',
        '192.0.2.1:5679, 203.0.113.7:99',
        'Forwarded: for=192.0.2.1',
        '192.0.2.1Forwarded: for=192.0.2.10',
        'Forwarded: for=192.0.2.9, By=x;For="192.0.2.1:80";proto=https',
      ],
      [
        '2001:db8:1:2::1',
        '2001:db8:1:2:ffff::2',
        '[2001:DB8:1:2::3]:443',
        'fe80::1%eth0, 2001:db8:1:2::4',
        'Forwarded: for="[2001:db8:1:2::5]:1"',
      ],
      ['2001:db8:1:3::1'],
      [
        'unknown',
        'unknown:1',
        '_hidden',
        '1.2.3',
        '1.2.3.4.5:6',
        '192.0.2.3, -',
        'Forwarded: by=192.0.2.1',
        'Forwarded: for=192.0.2.7;host=", for=x;host="h"',
      ],
    ];
    const trustProxy = ['loopback', '203.0.113.0/24'];
    const service = await startService({ registrationsPerMinute: 1, trustProxy }, t);
    const statusOf = async (text: string): Promise<number> => {
      const [, listed, forwarded] = /^([^F]*)(?:Forwarded: (.*))?$/.exec(text) ?? [];
      const headers = { ...(listed && { 'x-forwarded-for': listed }), ...(forwarded && { forwarded }) };
      return (await sendJson(service.base, 'POST', '/webPush', newSubscription(), headers)).status;
    };
    for (const texts of clients) {
      const statuses: (string | number)[] = [];
      for (const text of texts) statuses.push(text, await statusOf(text));
      assert.deepEqual(
        statuses,
        texts.flatMap((text, index) => [text, index === 0 ? 200 : 429]),
      );
    }
  });

  test('writes what PushSubscription.toJSON() gave just so, or its origin where that is configured', async (t) => {
    const { endpoint, ...keys } = newSubscription();
    for (const [redactSubscriptions, shown] of [
      [undefined, { endpoint, ...keys }],
      [true, { endpoint: `${new URL(endpoint).origin}/…` }],
    ] as const) {
      const service = await startService({ redactSubscriptions }, t);
      await sendJson(service.base, 'POST', '/webPush', { endpoint, keys });
      const lines = service.records.filter(({ event }) => event === 'subscription');
      assert.deepEqual(lines, [{ event: 'subscription', ...shown }]);
    }
  });

  test('counts registrations with paths that push services are not known to have, and takes them', async (t) => {
    const service = await startService({}, t);
    const origin = 'https://fcm.googleapis.com';
    for (const path of ['/fcm/send/token', '/a-path-of-next-year/token', '/another/token']) {
      const subscription = { ...newSubscription(), endpoint: origin + path };
      assert.equal((await sendJson(service.base, 'POST', '/webPush', subscription)).status, 200);
    }
    assert.deepEqual(
      service.records.filter(({ event }) => event === 'unknown-path'),
      [1, 2].map((count) => ({ event: 'unknown-path', origin, count })),
    );
  });
});

describe('DELETE /webPush', () => {
  test('tells the application of a removed subscription once, and of nothing else', async (t) => {
    const told: unknown[] = [];
    const own = await startService(
      {
        onUnsubscribe: async ({ id, endpoint }, request) => {
          const stored = await own.store.subscriptions.findByEndpoint(endpoint);
          told.push({ id, endpoint, who: request.headers['x-user'], stored });
        },
      },
      t,
    );
    const { endpoint, p256dh, auth } = newSubscription();
    await sendJson(own.base, 'POST', '/webPush', { endpoint, p256dh, auth });
    for (const wrong of [newSubscription().auth, 'x', auth, auth]) {
      const headers = { 'x-user': 'alice' };
      const response = await sendJson(own.base, 'DELETE', '/webPush', { endpoint, auth: wrong }, headers);
      assert.equal(response.status, 204);
    }
    assert.deepEqual(told, [{ id: 1, endpoint, who: 'alice', stored: undefined }]);
  });

  test('answers 204 and logs it where the application fails to take note', async (t) => {
    const own = await startService({ onUnsubscribe: () => Promise.reject(new Error('swordfish')) }, t);
    const subscription = newSubscription();
    await sendJson(own.base, 'POST', '/webPush', subscription);
    assert.equal((await sendJson(own.base, 'DELETE', '/webPush', subscription)).status, 204);
    const fault = own.records.find(({ event }) => event === 'fault');
    assert.match(String(fault?.['error']), /swordfish/);
  });

  const service = startServiceForSuite();

  /** A subscription that is stored as one of the user 42. */
  const storeOwned = async () => {
    const subscription = newSubscription();
    await sendJson(service.base, 'POST', '/webPush', subscription);
    const { id } = (await service.store.subscriptions.findByEndpoint(subscription.endpoint))!;
    await service.store.people.assign(id, { user: '42', tags: ['de'] });
    return subscription;
  };

  test('answers alike, and removes nothing, where the auth is wrong or there is no row; so does signing out', async () => {
    const { endpoint, auth } = await storeOwned();
    const tries = [
      { endpoint, auth: newSubscription().auth },
      { endpoint, auth: 'not base64!' },
      { endpoint, auth: '' },
      { endpoint, auth: auth.slice(0, 8) },
      { endpoint: `${endpoint}x`, auth },
      { endpoint: 'http://127.0.0.1/', auth },
    ];
    for (const [method, path] of [
      ['DELETE', '/webPush'],
      ['DELETE', '/webPush/user'],
      ['POST', '/webPush/unsubscribe'],
      ['POST', '/webPush/sign-out'],
    ] as const) {
      const answers = await Promise.all(
        tries.map(async (body) => {
          const response = await sendJson(service.base, method, path, body);
          const headers = [...response.headers].filter(([name]) => !['date', 'request-time'].includes(name));
          return JSON.stringify([response.status, headers, await response.text()]);
        }),
      );
      assert.equal(new Set(answers).size, 1);
      assert.match(answers[0]!, /^\[204,/);
    }
    assert.equal((await service.store.subscriptions.findByEndpoint(endpoint))?.user, '42');
  });

  test('by POST too, for proxies that drop the body of DELETE: signs out, then removes', async () => {
    const { endpoint, auth } = await storeOwned();
    assert.equal((await fetch(`${service.base}/webPush`, { method: 'DELETE' })).status, 400);
    const by = (path: string) => sendJson(service.base, 'POST', path, { endpoint, auth });
    for (let count = 0; count < 2; count += 1) assert.equal((await by('/webPush/sign-out')).status, 204);
    const row = await service.store.subscriptions.findByEndpoint(endpoint);
    assert.deepEqual([row?.user, row?.tags], [undefined, []]);
    assert.equal((await by('/webPush/unsubscribe')).status, 204);
    assert.equal(await service.store.subscriptions.findByEndpoint(endpoint), undefined);
  });

  for (const [body, errors] of [
    [{}, ['/endpoint ERR_FIELD_MISSING', '/auth ERR_FIELD_MISSING']],
    [{ endpoint: 7, auth: null }, ['/endpoint ERR_FIELD_TYPE', '/auth ERR_FIELD_TYPE']],
  ] as const) {
    test(`refuses ${JSON.stringify(body)}`, async () => {
      const refused = sendJson(service.base, 'DELETE', '/webPush', body);
      const problem = await assertProblem(refused, 400, 'ERR_REQUEST_INVALID');
      assert.deepEqual(
        problem.errors?.map((error) => `${error.pointer} ${error.code}`),
        errors,
      );
    });
  }
});
