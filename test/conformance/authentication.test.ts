// The specification's sentences about cross-origin access, the authenticator and how the logging mechanisms are
// attached. Each title is the meaning of a sentence; the site’s page of conformance is made from them.
import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import { startConformanceService, type ConformanceService } from './conformance-service.ts';

const allFour = ['action', 'filter', 'authenticator', 'action-creator'] as const;

let service: ConformanceService;
before(async () => {
  service = await startConformanceService({ logging: allFour });
});
after(() => service[Symbol.asyncDispose]());

const order = (): string[] =>
  service.records.splice(0).map(({ mechanism, phase }) => `${mechanism} ${phase}`);

describe('Authentication', () => {
  test('Cross-origin access is decided before CSRF', async () => {
    const response = await service.ask('PUT', '/v1/user/1', {}, { cookie: service.session.cookie });
    assert.equal(response.status, 403);
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
  });

  test('All methods are allowed cross-origin, custom ones too', async () => {
    for (const method of [...METHODS, 'TICKLE', 'x-custom']) {
      const headers = { origin: 'https://a.example', 'access-control-request-method': method };
      const response = await service.ask('OPTIONS', '/any/path', undefined, headers);
      assert.equal(response.status, 204);
      assert.equal(response.headers.get('access-control-allow-methods'), method);
    }
  });

  test('All headers are allowed cross-origin', async () => {
    const response = await service.ask('OPTIONS', '/any/path', undefined, {
      origin: 'https://a.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-one, authorization, csrf-token',
    });
    assert.equal(response.headers.get('access-control-allow-headers'), 'x-one, authorization, csrf-token');
  });

  test('The preflight’s max-age is not set', async () => {
    const askedFor = [{}, { 'access-control-request-headers': 'content-type, csrf-token' }];
    for (const path of ['/webPush', '/vapidKey', '/api/post', '/v1/user/1', '/no/such/path']) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        for (const furtherHeaders of askedFor) {
          const response = await service.ask('OPTIONS', path, undefined, {
            origin: 'https://a.example',
            'access-control-request-method': method,
            ...furtherHeaders,
          });
          assert.equal(response.status, 204);
          assert.equal(response.headers.get('access-control-max-age'), null);
        }
      }
    }
  });

  test('A request with the session entry SESSION passes the authenticator', async () => {
    for (const value of ['ada', 'any value', '']) {
      const { cookie } = await createSessionCookie({ sessionKey: service.data.sessionKey, value });
      assert.equal((await service.ask('GET', '/api/get', undefined, { cookie })).status, 200);
    }
  });

  test('A request without the session entry SESSION is rejected with 401', async () => {
    const { cookie } = await createSessionCookie({ sessionKey: service.data.sessionKey });
    for (const [method, path, body] of [
      ['GET', '/api/get', undefined],
      ['HEAD', '/api/get', undefined],
      ['GET', '/api/getWithArg/x', undefined],
      ['HEAD', '/api/getWithArg/x', undefined],
      ['POST', '/api/post', {}],
    ] as const) {
      assert.equal((await service.ask(method, path, body)).status, 401, `${method} ${path}`);
      assert.equal((await service.ask(method, path, body, { cookie })).status, 401, `${method} ${path}`);
    }
  });

  test('A 403 is there for a session value, which the default check never gives', async () => {
    await using picky = await startConformanceService({
      authenticate: 'all',
      authorize: (value) => value !== 'ada',
    });
    const { cookie } = picky.session;
    assert.equal((await picky.ask('GET', '/api/get', undefined, { cookie })).status, 403);
    const own = service.session.cookie;
    assert.equal((await service.ask('GET', '/api/get', undefined, { cookie: own })).status, 200);
  });

  test('/vapidKey and /webPush need no credential', async () => {
    assert.equal((await service.ask('GET', '/vapidKey')).status, 200);
    assert.equal((await service.ask('POST', '/webPush', {})).status, 400);
  });

  test('A value for SESSION comes from server-side code alone', async () => {
    for (const path of ['/', '/vapidKey', '/api/get', '/api/getWithArg/SESSION=x', '/no/such/path']) {
      const response = await service.ask('GET', `${path}?SESSION=x`, undefined, { cookie: 'SESSION=x' });
      assert.equal(response.headers.get('set-cookie'), null);
    }
    for (const headers of [
      {},
      { cookie: 'SESSION=x' },
      { cookie: 'deskbell_session=x; SESSION=x' },
      { session: 'x' },
      { 'x-session': 'x' },
      { authorization: 'SESSION x' },
    ]) {
      const asked = await service.ask('GET', '/api/get?SESSION=x', undefined, headers);
      const posted = await service.ask('POST', '/api/post?SESSION=x', { SESSION: 'x' }, headers);
      assert.deepEqual([asked.status, posted.status], [401, 401], JSON.stringify(headers));
    }
  });
});

describe('Logging', () => {
  test('With all four, one request is logged by authenticator, action creator, action, action creator, filter', async () => {
    for (const [method, path, body] of [
      ['GET', '/api/get', undefined],
      ['GET', '/api/getWithArg/x', undefined],
      ['POST', '/api/post', {}],
    ] as const) {
      order();
      await service.ask(method, path, body, { cookie: service.session.cookie });
      assert.deepEqual(order(), [
        'authenticator request',
        'action-creator request',
        'action result',
        'action-creator result',
        'filter result',
      ]);
    }
  });

  test('The authenticator is attached per action, by annotation', async () => {
    await using named = await startConformanceService({ authenticate: ['getWithArg'] });
    assert.equal((await named.ask('GET', '/api/get')).status, 200);
    assert.equal((await named.ask('GET', '/api/getWithArg/x')).status, 401);
  });

  test('The authenticator is attached per class of actions, by annotation', async () => {
    await using whole = await startConformanceService({ authenticate: 'all' });
    for (const path of ['/api/get', '/api/getWithArg/x']) {
      assert.equal((await whole.ask('GET', path)).status, 401);
    }
    assert.equal((await whole.ask('GET', '/v1/user/1')).status, 200, 'another class');
  });

  test('The action creator is attached by one configuration entry', async () => {
    await using created = await startConformanceService({ logging: ['action-creator'] });
    await created.ask('GET', '/api/get');
    await created.ask('POST', '/api/post', {});
    assert.equal(created.records.length, 4);
  });

  test('The filter is attached by one entry in the list of enabled filters', async () => {
    await using filtered = await startConformanceService({ logging: ['filter'] });
    await filtered.ask('GET', '/no/such/path');
    assert.equal(filtered.records[0]!['mechanism'], 'filter');
  });
});
