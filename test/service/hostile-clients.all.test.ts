// Slow and hostile clients: each ends by a time-out or a limit, and others are served meanwhile.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  exchange,
  newSubscription,
  openConnection,
  readToEnd,
  sendJson,
  startService,
  type RunningService,
} from './running-service.ts';
import { startOperator } from '../operator/running-operator.ts';
import { until, within } from '../../tools/until.ts';

const quickLimits = {
  headersTimeoutMs: 300,
  requestTimeoutMs: 600,
  keepAliveTimeoutMs: 300,
  timeoutCheckIntervalMs: 50,
};

const post = 'POST /webPush HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

const registration = (): string => {
  const body = JSON.stringify(newSubscription());
  return `${post}Content-Length: ${body.length}\r\n\r\n${body}`;
};

/** @returns `answer`: all that has come back when the connection is closed */
async function openClient({ port }: RunningService) {
  const socket = await openConnection(port);
  return { socket, answer: readToEnd(socket) };
}

async function assertServesOthers({ base }: RunningService): Promise<void> {
  assert.equal((await fetch(`${base}/vapidKey`)).status, 200);
}

const statusesIn = (answers: string): (string | undefined)[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

/** Sends a byte again and again until the connection is closed on it. */
async function drip(socket: Socket, byte: string): Promise<void> {
  while (!socket.closed && socket.writable) {
    socket.write(byte);
    await wait(20);
  }
}

describe('a client that', () => {
  for (const [what, start, byte] of [
    ['headers', 'GET /vapidKey HTTP/1.1\r\nX: ', 'x'],
    ['body', `${post}Content-Length: 10000\r\n\r\n`, ' '],
  ] as const) {
    test(`sends its ${what} byte by byte is answered 408`, async (t) => {
      const service = await startService(quickLimits, t);
      const { socket, answer } = await openClient(service);
      socket.write(start);
      await Promise.all([drip(socket, byte), assertServesOthers(service)]);
      assert.match(await answer, /^HTTP\/1\.1 408 [^]*ERR_REQUEST_TIMEOUT/);
    });
  }

  test('sends a body that never ends is answered 413', async (t) => {
    const service = await startService(quickLimits, t);
    const { socket, answer } = await openClient(service);
    socket.write(`${post}Transfer-Encoding: chunked\r\n\r\n`);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    const flood = async (): Promise<void> => {
      for (let count = 0; !socket.closed && socket.writable && count < 5000; count += 1) {
        if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), closed]);
      }
    };
    await Promise.all([flood().catch(() => undefined), assertServesOthers(service)]);
    assert.match(await answer, /^HTTP\/1\.1 413 [^]*ERR_BODY_TOO_LARGE/);
  });

  test('says nothing is disconnected, 2000 of them, while others are served', async (t) => {
    const service = await startService({ ...quickLimits, headersTimeoutMs: 1500, requestTimeoutMs: 1500 }, t);
    const idle: Socket[] = [];
    for (let count = 0; count < 2000; count += 100) {
      idle.push(...(await Promise.all(Array.from({ length: 100 }, () => openConnection(service.port)))));
    }
    for (const socket of idle) socket.resume();
    await assertServesOthers(service);
    await until(() => idle.every(({ closed }) => closed), 'the idle connections to be closed');
    await assertServesOthers(service);
  });

  test('keeps its connection without using it again is disconnected', async (t) => {
    const service = await startService(quickLimits, t);
    const answer = await exchange(service.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(answer, /^HTTP\/1\.1 200 /);
  });

  test('pipelines many requests over time gets all answers, if at most 32 wait', async (t) => {
    const held = Promise.withResolvers<void>();
    const service = await startService({ onSubscribe: () => held.promise }, t);
    const { socket, answer } = await openClient(service);
    let early = '';
    socket.on('data', (bytes: Buffer) => (early += bytes.toString()));
    const head = 'HTTP/1.1\r\nHost: x\r\n';
    socket.write(`GET /healthz ${head}\r\n`.repeat(20));
    socket.write(registration());
    await until(() => statusesIn(early).length === 20, 'the answers before the one that waits');
    socket.write(`GET /healthz ${head}\r\n`.repeat(20));
    // what is sent on another connection later is answered later
    await assertServesOthers(service);
    held.resolve();
    socket.write(`GET /healthz ${head}Connection: close\r\n\r\n`);
    assert.deepEqual(statusesIn(await answer), Array(42).fill('200'));
  });

  test('pipelines many more than 32 registrations has 32 of them handled', async (t) => {
    let handled = 0;
    const onSubscribe = (): void => {
      handled += 1;
    };
    const service = await startService({ onSubscribe }, t);
    const socket = await openConnection(service.port);
    const closed = once(socket, 'close');
    socket.write(registration().repeat(100));
    socket.resume();
    await within(closed, 'the end of the connection');
    await assertServesOthers(service);
    assert.equal(handled, 32);
  });

  test('goes on sending after a request that is not valid costs no memory', async (t) => {
    const held = Promise.withResolvers<void>();
    const service = await startService({ onSubscribe: () => held.promise }, t);
    const { socket, answer } = await openClient(service);
    let finishers = 0;
    service.app.server.on('request', (_request, response) =>
      response.on('newListener', (event) => (finishers += Number(event === 'finish'))),
    );
    let faults = 0;
    service.app.server.on('clientError', () => (faults += 1));
    socket.write(`${registration()}NOT HTTP\r\n\r\n`);
    await until(() => faults > 0, 'the fault');
    const before = finishers;
    const more = setInterval(() => socket.write('x'.repeat(1000)), 5);
    await until(() => faults >= 5, 'what follows to be read').finally(() => clearInterval(more));
    assert.equal(finishers, before, 'nothing is kept for what follows');
    held.resolve();
    assert.deepEqual(statusesIn(await answer), ['200', '400']);
  });

  test('is still sending headers that are too large gets its answer', async (t) => {
    const service = await startService({}, t);
    const { socket, answer } = await openClient(service);
    let faults = 0;
    service.app.server.on('clientError', () => (faults += 1));
    socket.pause();
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}`);
    const more = setInterval(() => socket.write('x'.repeat(1000)), 5);
    await until(() => faults >= 3, 'what follows to be read').finally(() => clearInterval(more));
    socket.resume();
    assert.match(await answer, /^HTTP\/1\.1 431 [^]*ERR_HEADERS_TOO_LARGE/);
  });

  for (const [what, head] of [
    ['both lengths', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'],
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n'],
    ['a negative length', 'Content-Length: -1\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: x\r\n'],
    ['a line break in a header', 'X: a\rb\r\n'],
    ['a bad chunk', 'Transfer-Encoding: chunked\r\n\r\nZZ\r\n'],
  ] as const) {
    test(`sends ${what} is answered 400 and disconnected`, async (t) => {
      const service = await startService({}, t);
      const answer = await exchange(service.port, `${post}${head}\r\n0\r\n\r\n`);
      assert.match(answer, /^HTTP\/1\.1 400 [^]*ERR_REQUEST_INVALID/);
      assert.match(answer, /access-control-allow-origin: \*/);
    });
  }

  test('is one too many is disconnected at once; the others go on', async (t) => {
    const service = await startService({ maxConnections: 3 }, t);
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => openConnection(service.port)));
    const oneTooMany = await openConnection(service.port);
    assert.equal(await readToEnd(oneTooMany), '');
    const answer = readToEnd(first!);
    first!.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(await answer, /^HTTP\/1\.1 200 /);
    for (const socket of others) socket.destroy();
  });

  test('goes away in the middle of anything leaves nothing behind', async (t) => {
    const service = await startService({}, t);
    const whole = `${post}Content-Length: 2\r\n\r\n{}`;
    for (let length = 1; length < whole.length; length += 3) {
      const socket = await openConnection(service.port);
      socket.write(whole.slice(0, length));
      socket.destroy();
    }
    await assertServesOthers(service);
    assert.deepEqual(
      service.records.filter(({ event, status }) => event === 'fault' || Number(status) >= 500),
      [],
    );
  });

  test('is being answered while the server closes gets its answer', async (t) => {
    const held = Promise.withResolvers<void>();
    let isAsked = false;
    const onSubscribe = (): Promise<void> => {
      isAsked = true;
      return held.promise;
    };
    const service = await startService({ onSubscribe }, t);
    const { socket, answer } = await openClient(service);
    socket.write(registration());
    await until(() => isAsked, 'the registration');
    const closing = service.app.close();
    await until(() => !service.app.server.listening, 'the closing to begin');
    held.resolve();
    await closing;
    assert.match(await answer, /^HTTP\/1\.1 200 /);
  });
});

test('a service without options has its limits', async (t) => {
  const unset = { registrationsPerMinute: undefined, keepAliveTimeoutMs: undefined };
  const unlimited = { ...unset, receiptKey: randomBytes(32), channels: true };
  const intervals = t.mock.method(globalThis, 'setInterval');
  const { app, base, port } = await startService(unlimited, t);
  const { maxConnections, headersTimeout, requestTimeout, keepAliveTimeout } = app.server;
  assert.deepEqual(
    { maxConnections, headersTimeout, requestTimeout, keepAliveTimeout },
    { maxConnections: 10_000, headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 10_000 },
  );
  const { connectionsCheckingInterval } = app.server as { readonly connectionsCheckingInterval?: number };
  assert.equal(connectionsCheckingInterval, 1000, 'how often the first two limits are looked at');
  const looks = new Set(intervals.mock.calls.map(({ arguments: [, ms] }) => ms));
  assert.ok(looks.has(60_000), 'whether clients read their answers is looked at each minute');
  // names and values count, and the path
  for (const [length, status] of [
    [16_300, 200],
    [16_384, 431],
  ]) {
    const head = `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(length!)}\r\n`;
    const answer = await exchange(port, `${head}Connection: close\r\n\r\n`);
    assert.equal(answer.slice(0, 12), `HTTP/1.1 ${status}`, `headers of ${length} bytes`);
  }
  for (const [path, body, limit] of [
    ['/webPush', {}, 60],
    ['/webPush/channels', {}, 60],
    ['/webPush/receipts', { receipts: [] }, 600],
  ] as const) {
    const statuses = new Map<boolean, number>();
    for (let count = 0; count <= limit; count += 1) {
      const isLimited = (await sendJson(base, 'POST', path, body)).status === 429;
      statuses.set(isLimited, (statuses.get(isLimited) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(statuses), { false: limit, true: 1 }, path);
  }
  const timeouts = t.mock.method(globalThis, 'setTimeout');
  await app.close();
  const waits = new Set(timeouts.mock.calls.map(({ arguments: [, ms] }) => ms));
  assert.ok(waits.has(11_000), 'requests that are under way keep a server that is closed for so long');
});

test('attempts to sign in to the console are counted, however many networks try', async (t) => {
  const { app, base } = await startOperator(t);
  const headers = {
    origin: base,
    host: new URL(base).host,
    'content-type': 'application/x-www-form-urlencoded',
  };
  const guess = async (remoteAddress: string): Promise<number> => {
    const request = { method: 'POST', url: '/console/sign-in', payload: 'token=guess' } as const;
    return (await app.inject({ ...request, remoteAddress, headers })).statusCode;
  };
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal(await guess('192.0.2.1'), 403);
  for (let network = 0; network < 5100; network += 1) await guess(`2001:db8:${network.toString(16)}::1`);
  assert.equal(await guess('192.0.2.1'), 429);
});
