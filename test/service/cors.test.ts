// Cross-origin access: what every answer carries, whatever it answers to, and what preflights are told.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exchange, startService, startServiceForSuite } from './running-service.ts';

describe('cross-origin access', () => {
  const service = startServiceForSuite({ authenticate: 'all', maxHeaderBytes: 8192 });

  /** One request per kind of answer, as text, with the status that it gets. */
  const requests: Readonly<Record<string, readonly [status: number, start: string, rest?: string]>> = {
    'a JSON answer': [200, 'GET /vapidKey'],
    'a HEAD': [200, 'HEAD /vapidKey'],
    'a page': [200, 'GET /'],
    'a script': [200, 'GET /service-worker.js'],
    'an answer without a body': [204, 'OPTIONS /vapidKey'],
    'an unknown path': [404, 'GET /nowhere'],
    'an unknown path with a body': [404, 'POST /nowhere', 'Content-Length: 1\r\n\r\nx'],
    'a method that is not allowed': [405, 'PATCH /vapidKey'],
    'a method that Fastify has no routes for': [405, 'PROPFIND /vapidKey'],
    'a method that Node does not know': [405, 'TICKLE /vapidKey'],
    'such a method on an unknown path': [404, 'TICKLE /nowhere'],
    CONNECT: [404, 'CONNECT example.org:443'],
    'such a method on a path that cannot be decoded': [404, 'TICKLE /%'],
    'such a method on an address that cannot be read': [404, 'TICKLE http://[/vapidKey'],
    'no session': [401, 'GET /api/get'],
    'malformed JSON': [400, 'POST /webPush', 'Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{'],
    'a wrong content type': [415, 'POST /webPush', 'Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx'],
    'a body over the limit': [
      413,
      'POST /webPush',
      'Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n',
    ],
    'a URL that cannot be decoded': [400, 'GET /%E0%A4%A'],
    'headers over the limit': [431, 'GET /vapidKey', `X: ${'x'.repeat(9000)}\r\n\r\n`],
    'a URL over the limit': [431, `GET /${'x'.repeat(9000)}`],
    'a request that is not HTTP': [400, 'nonsense'],
    'an unknown version of HTTP': [400, 'GET /vapidKey HTTP/3.7\r\n'],
    'a bad header': [400, 'GET /vapidKey', 'bad header\r\n\r\n'],
    'an expectation': [200, 'GET /vapidKey', 'Expect: the-unexpected\r\n\r\n'],
    'an upgrade': [200, 'GET /vapidKey', 'Connection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n'],
  };
  for (const [what, [status, start, rest = '\r\n']] of Object.entries(requests)) {
    test(`is open, and Request-Time there, for ${what}`, async () => {
      const line = start.includes('HTTP/') || start === 'nonsense' ? start : `${start} HTTP/1.1`;
      const close = rest.includes('Connection:') ? '' : 'Connection: close\r\n';
      const answer = await exchange(
        service.port,
        `${line}\r\nHost: x\r\nOrigin: https://a.example\r\n${close}${rest}`,
      );
      const [head = ''] = answer.split('\r\n\r\n');
      assert.equal(head.slice(0, 12), `HTTP/1.1 ${status}`);
      assert.match(head, /^access-control-allow-origin: \*$/im);
      assert.match(head, /^access-control-expose-headers:.*\bRequest-Time\b/im);
      assert.match(head, /^request-time: \d+$/im);
      assert.doesNotMatch(head, /max-age|allow-credentials/i);
      if (status >= 400 && !start.startsWith('HEAD')) {
        assert.match(head, /^content-type: application\/problem\+json$/im);
        assert.match(answer, new RegExp(`"status":${status}`));
      }
    });
  }

  test('holds outside the prefix of a server with one', async (t) => {
    const prefixed = await startService({ prefix: '/push' }, t);
    const outside = await fetch(`http://127.0.0.1:${prefixed.port}/vapidKey`);
    assert.equal(outside.status, 404);
    assert.equal(outside.headers.get('access-control-allow-origin'), '*');
    assert.equal(outside.headers.get('content-type'), 'application/problem+json');
    assert.equal((await fetch(`${prefixed.base}/vapidKey`)).status, 200);
  });
});
