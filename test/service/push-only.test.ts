// The push-only surface: what Web Push needs in production, and nothing of the demonstration.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import {
  newSubscription,
  readDescription,
  sendJson,
  startService,
  startServiceForSuite,
} from './running-service.ts';
import { pluck } from '../../tools/pluck.ts';

describe('the service with pushOnly', () => {
  const service = startServiceForSuite({ pushOnly: true });

  for (const path of [
    '/',
    '/client/demo/demo.js',
    '/client/demo/demo.css',
    '/api/get',
    '/api/getWithArg/x',
    '/api/post',
    '/v1/user/1',
  ]) {
    test(`has nothing at ${path}, whatever the method`, async () => {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS']) {
        const response = await fetch(service.base + path, { method });
        assert.equal(response.status, 404, method);
        assert.equal(response.headers.get('access-control-allow-origin'), '*');
      }
    });
  }

  test('has no sessions: their cookie is a cookie like any other', async () => {
    const { cookie } = await createSessionCookie({ sessionKey: service.sessionKey, value: 'x' });
    const response = await sendJson(service.base, 'POST', '/webPush', newSubscription(), { cookie });
    assert.equal(response.status, 200);
  });

  test('describes what is there, and nothing else', async () => {
    const document = await readDescription(service.base);
    const files = ['/client/index.js', '/client/subscribe.js', '/client/subscribe/languages.js'];
    assert.deepEqual(
      Object.keys(document.paths).filter((path) => !path.startsWith('/docs/')),
      [
        '/vapidKey',
        '/webPush',
        '/webPush/unsubscribe',
        '/webPush/user',
        '/webPush/sign-out',
        ...files,
        '/service-worker.js',
        '/healthz',
        '/readyz',
        '/openapi.json',
        '/docs',
      ],
    );
    for (const [path, { get }] of Object.entries<{ get?: object }>(document.paths))
      if (get !== undefined) assert.equal((await fetch(service.base + path)).status, 200, path);
    assert.deepEqual(document.components.securitySchemes, {});
    assert.deepEqual(pluck(document.tags, 'name'), ['Web Push', 'Service', 'Files']);
    const text = JSON.stringify(document.paths) + (await (await fetch(`${service.base}/docs`)).text());
    assert.doesNotMatch(text, /csrf|session|\/api\/|\/v1\//i);
  });

  test('with subscriber tokens says where they go, and nothing of sessions', async (t) => {
    const subscriberTokens = { algorithm: 'HS256', key: randomBytes(32), audience: 'deskbell' } as const;
    const { base } = await startService({ pushOnly: true, subscriberTokens }, t);
    const page = await (await fetch(`${base}/docs`)).text();
    assert.match(page, /<code>Authorization<\/code> may have a subscriber token/);
    assert.doesNotMatch(page, /csrf|session/i);
  });

  test('with invitations serves the page that their links open, and how to send stays out of it', async (t) => {
    const { base } = await startService({ pushOnly: true, registrations: 'invited' }, t);
    for (const path of ['/', '/client/demo/demo.js', '/client/demo/demo.css', '/client/demo/icon.svg'])
      assert.equal((await fetch(base + path)).status, 200, path);
    const page = await (await fetch(`${base}/`)).text();
    assert.match(page, /<deskbell-subscribe /);
    assert.doesNotMatch(page, /deskbell send|sendCommand|<!--/);
    assert.equal((await fetch(`${base}/api/get`)).status, 404);
    const { tags } = await readDescription(base);
    assert.deepEqual(pluck(tags, 'name'), ['Web Push', 'Service', 'Files']);
  });
});
