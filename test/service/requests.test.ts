// Requests that are HTTP to Node’s parser and still wrong, the time that each took, and those without a body.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import Fastify from 'fastify';
import { acceptConsumedBodies } from '../../src/http/json-body.ts';
import { until } from '../../tools/until.ts';
import {
  connectTo,
  exchange,
  openConnection,
  readToEnd,
  startService,
  startServiceForSuite,
} from './running-service.ts';
import { pluck } from '../../tools/pluck.ts';

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

  /** Sends a request in as many packets as it is split into, each once the service has read the one before. */
  async function sendSplit(request: string, places: readonly number[]): Promise<string> {
    const { socket, served } = await connectTo(service.app, service.port);
    socket.setNoDelay(true);
    const answer = readToEnd(socket);
    let from = 0;
    for (const place of [...places, request.length]) {
      socket.write(request.slice(from, place));
      if (place < request.length)
        await until(() => served.destroyed || served.bytesRead >= place, `byte ${place}`);
      from = place;
    }
    return (await answer).replaceAll(/^(?:date|request-time): .*$/gim, '');
  }

  for (const [line, status, code, allow] of [
    ['BREW /vapidKey HTTP/1.1\r\n', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS'],
    ['GETS /vapidKey?x=1 HTTP/1.0\r\n', 405, 'ERR_METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS'],
    ['get /nowhere HTTP/1.1\r\n', 404, 'ERR_ROUTE_UNKNOWN', undefined],
    ['MKX /vapidKey HTTQ/1.1\r\n', 400, 'ERR_REQUEST_INVALID', undefined],
    ['B{W /vapidKey HTTP/1.1\r\n', 400, 'ERR_REQUEST_INVALID', undefined],
    ['BR\r\n', 400, 'ERR_REQUEST_INVALID', undefined],
  ] as const) {
    test(`that begins with ${JSON.stringify(line)} is a ${status}, wherever packets end`, async () => {
      const before = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
      for (const earlier of ['', before]) {
        const request = `${earlier}${line}Host: x\r\n\r\n`;
        const whole = await sendSplit(request, []);
        const last = whole.slice(whole.lastIndexOf('HTTP/1.1 '));
        assert.equal(last.slice(0, 12), `HTTP/1.1 ${status}`, whole);
        assert.ok(last.includes(code), last);
        assert.equal(/^allow: (.*)\r$/im.exec(last)?.[1], allow, last);
        if (status === 405) assert.ok(last.includes(`"detail":"${line.split(' ')[0]} is not one of `), last);
        const places = Array.from({ length: line.length }, (_, index) => earlier.length + index + 1);
        // all at once, and each by itself
        assert.equal(await sendSplit(request, places.slice(0, line.indexOf('{') + 1 || line.length)), whole);
        const answers = await Promise.all(places.map((place) => sendSplit(request, [place])));
        for (const [index, answer] of answers.entries())
          assert.equal(answer, whole, `split after ${places[index]}`);
      }
    });
  }

  test('whose method is unknown, and whose line never ends, is a 408', async (t) => {
    const hasty = await startService({ headersTimeoutMs: 200, timeoutCheckIntervalMs: 20 }, t);
    assert.match(await exchange(hasty.port, 'BREW /vapid'), /^HTTP\/1\.1 408 /);
    assert.match(await exchange(hasty.port, `BREW /${'x'.repeat(9000)}`), /^HTTP\/1\.1 4(?:00|31) /);
  });
});

// Request-Time: whole milliseconds since the first byte of the request, whatever ends it. The client's own measures are
// its bounds: one that begins once the first byte has been read, and one that begins before it is sent.

const head = 'Host: x\r\nContent-Type: application/json\r\n';
const limits = { headersTimeoutMs: 200, requestTimeoutMs: 200, timeoutCheckIntervalMs: 20 };

/** Requests in two parts with a pause between, the status that each gets, and the limits that it meets. */
const requests: Readonly<
  Record<string, readonly [status: number, parts: readonly [string, string], object?]>
> = {
  'whose headers arrive slowly': [200, ['G', `ET /vapidKey HTTP/1.1\r\n${head}\r\n`]],
  'whose body arrives slowly': [400, [`POST /webPush HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{`, '}']],
  'whose chunks turn out to be malformed': [
    400,
    [`POST /webPush HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, 'ZZ\r\n'],
  ],
  'whose headers turn out to be malformed': [400, ['GET /vapidKey HTTP/1.1\r\n', 'bad header\r\n\r\n']],
  'whose path turns out to be malformed': [400, ['GET /%E0%A4%A', ` HTTP/1.1\r\n${head}\r\n`]],
  'whose headers do not end in time': [408, ['GET /vapidKey HTTP/1.1\r\n', 'X: y\r\n'], limits],
  'whose body does not end in time': [
    408,
    [`POST /webPush HTTP/1.1\r\n${head}Content-Length: 9\r\n\r\n`, '{'],
    limits,
  ],
};

describe('Request-Time', () => {
  for (const [what, [status, parts, options = {}]] of Object.entries(requests)) {
    test(`is the time that a request took ${what}`, async (t) => {
      const service = await startService(options, t);
      const { served, socket } = await connectTo(service.app, service.port);
      const answer = readToEnd(socket);
      const earliestMs = performance.now();
      socket.write(parts[0]);
      await until(() => served.bytesRead >= parts[0].length, 'the first part to be read');
      const latestMs = performance.now();
      await wait(40);
      const pauseMs = performance.now() - latestMs;
      socket.write(parts[1].replace('HTTP/1.1\r\n', 'HTTP/1.1\r\nConnection: close\r\n'));
      if (status === 400 && parts[1] === '}') socket.end();
      const text = await answer;
      const tookMs = performance.now() - earliestMs;
      assert.equal(text.slice(0, 12), `HTTP/1.1 ${status}`);
      assert.match(text, /^access-control-allow-origin: \*\r$/im);
      const shownMs = Number(/^request-time: (\d+)\r$/im.exec(text)![1]);
      assert.ok(shownMs >= Math.floor(pauseMs) && shownMs <= Math.ceil(tookMs), `${shownMs}, not ${pauseMs}`);
    });
  }

  test('does not count the time between two requests of one connection', async (t) => {
    const service = await startService({}, t);
    const { socket } = await connectTo(service.app, service.port);
    const answer = readToEnd(socket);
    socket.write('GET /vapidKey HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => service.records.length === 1, 'the first answer');
    await wait(40);
    const startMs = performance.now();
    socket.write('GET /vapidKey HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const text = await answer;
    const [, second] = [...text.matchAll(/^request-time: (\d+)\r$/gim)].map(([, ms]) => Number(ms));
    assert.ok(second! <= Math.ceil(performance.now() - startMs));
  });

  test('is logged once for a request that its body ends', async (t) => {
    const service = await startService({}, t);
    const [, [first, second]] = requests['whose chunks turn out to be malformed']!;
    const socket = await openConnection(service.port);
    const answer = readToEnd(socket);
    socket.write(first + second);
    await answer;
    const lines = service.records.filter(({ mechanism }) => mechanism === 'filter');
    assert.deepEqual(pluck(lines, 'status'), [400]);
  });
});

// A request that has no body costs no stream, though Node says that it has been read.

test('no stream is made for a request without a body', async (t) => {
  // as createHttpServer has it
  const app = Fastify({ http: { optimizeEmptyRequests: true } as object });
  t.after(() => app.close());
  acceptConsumedBodies(app);
  const seen: unknown[] = [];
  app.addHook('preParsing', (request, _reply, payload, done) => {
    seen.push([request.method, (payload as unknown) === request.raw]);
    done(null, payload);
  });
  app.all('/', async () => 'answer');
  const url = await app.listen();
  for (const method of ['GET', 'POST']) assert.equal(await (await fetch(url, { method })).text(), 'answer');
  assert.deepEqual(seen, [
    ['GET', true],
    ['POST', true],
  ]);
});
