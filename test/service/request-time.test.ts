// Request-Time: whole milliseconds since the first byte of the request, whatever ends it. The client's own measures are
// its bounds: one that begins once the first byte has been read, and one that begins before it is sent.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connectTo, openConnection, readToEnd, startService } from './running-service.ts';
import { until } from '../../tools/until.ts';

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
    assert.deepEqual(
      lines.map(({ status }) => status),
      [400],
    );
  });
});
