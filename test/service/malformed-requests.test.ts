// Requests that are HTTP to Node's parser and still wrong: the Host header, and paths that cannot be decoded.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exchange, startServiceForSuite } from './running-service.ts';

describe('a request', () => {
  const service = startServiceForSuite();

  const ask = (start: string, lines: string): Promise<string> =>
    exchange(service.port, `${start} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`);
  const preflight = 'Access-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: x-any\r\n';

  for (const [what, lines] of [
    ['two Host lines', 'Host: x\r\nHost: x\r\n'],
    ['two Host lines, differently written', 'host: x\r\nHOST: y\r\n'],
    ['user information in Host', 'Host: a@b\r\n'],
    ['white space in Host', 'Host: a b\r\n'],
    ['white space, a path and user information in Host', 'Host: a b/@\r\n'],
    ['a path in Host', 'Host: a/b\r\n'],
    ['a port in Host that is no number', 'Host: a:b\r\n'],
    ['two ports in Host', 'Host: a:1:2\r\n'],
    ['half an escape in Host', 'Host: a%2\r\n'],
    ['an open bracket in Host', 'Host: [::1\r\n'],
    ['no Host', ''],
  ] as const) {
    test(`with ${what} is a 400, a preflight, an unknown path and an action too`, async () => {
      for (const start of ['GET /vapidKey', 'GET /nowhere', 'OPTIONS /vapidKey', 'GET /api/get']) {
        const answer = await ask(start, lines + (start.startsWith('OPTIONS') ? preflight : ''));
        assert.match(answer, /^HTTP\/1\.1 400 [^]*ERR_REQUEST_INVALID/);
        assert.match(answer, /^access-control-allow-origin: \*\r$/im);
        assert.match(answer, /^request-time: \d+\r$/im);
      }
    });
  }

  for (const host of ['', 'x', 'x:', 'x:80', 'a.b-c_d.example', '127.0.0.1:8080', '[::1]:8080', 'a%20b']) {
    test(`with the Host "${host}" is answered`, async () => {
      assert.match(await ask('GET /vapidKey', `Host: ${host}\r\n`), /^HTTP\/1\.1 200 /);
    });
  }

  test('of HTTP/1.0 needs no Host', async () => {
    assert.match(await exchange(service.port, 'GET /vapidKey HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
  });

  for (const path of ['/%E0%A4%A', '/api/getWithArg/%FF', '/%']) {
    test(`for ${path} is a 400, and its preflight is answered as anywhere`, async () => {
      const answer = await ask(`GET ${path}`, 'Host: x\r\n');
      assert.match(answer, /^HTTP\/1\.1 400 [^]*ERR_REQUEST_INVALID/);
      const allowed = await ask(`OPTIONS ${path}`, `Host: x\r\n${preflight}`);
      assert.match(allowed, /^HTTP\/1\.1 204 /);
      for (const line of ['origin: \\*', 'methods: PUT', 'headers: x-any']) {
        assert.match(allowed, new RegExp(`^access-control-allow-${line}\r$`, 'im'));
      }
      assert.match(allowed, /^request-time: \d+\r$/im);
      assert.doesNotMatch(allowed, /max-age/i);
    });
  }
});
