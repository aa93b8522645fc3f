// Each fault as a sender sees it, over both versions of HTTP, and whom it meets how often.
import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Fault, PushService, PushServiceOptions } from '../../../src/push-service/index.ts';
import {
  type Received,
  type Send,
  sendByHttp1,
  sendByHttp2,
  sendOn,
  start,
  versions,
  push,
} from '../harness.ts';
import { until } from '../../../tools/until.ts';

/** A push service with `count` sinks; `endpoint` is that of the first. */
async function startWithSinks(t: TestContext, count = 1, options?: PushServiceOptions) {
  const service = await start(t, options);
  const endpoints = [...service.createSinks(count)].map((sink) => sink.endpoint);
  const [endpoint = '', other = ''] = endpoints;
  return { service, endpoints, endpoint, other };
}

function connectTo(t: TestContext, { origin }: PushService): ClientHttp2Session {
  const session = connect(origin);
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  return session;
}

async function outcomes(send: Send, endpoint: string, count: number): Promise<(number | 'broken')[]> {
  const seen: (number | 'broken')[] = [];
  for (let i = 0; i < count; i += 1) {
    seen.push(
      await send(endpoint, push).then(
        ({ status }) => status,
        () => 'broken' as const,
      ),
    );
  }
  return seen;
}

for (const [version, send] of versions) {
  test(`over ${version}`, async (t) => {
    const { service, endpoint } = await startWithSinks(t);
    const messages = (): number | undefined => service.tallySinks()[0]?.messages;
    t.beforeEach(() => service.faults.clear());

    await t.test('a status is answered with Retry-After, headers and body as told', async () => {
      const before = messages();
      service.faults.inject({
        kind: 'status',
        status: 429,
        retryAfter: 7,
        headers: { 'x-reason': 'injected' },
        body: 'slow down',
      });
      const answer = await send(endpoint, push);
      assert.equal(answer.status, 429);
      assert.equal(answer.headers['retry-after'], '7');
      assert.equal(answer.headers['x-reason'], 'injected');
      assert.equal(answer.body, 'slow down');
      assert.equal(messages(), before, 'the message was not accepted');
    });

    await t.test(
      'a status without body has an error body like a real one; Retry-After may be a date',
      async () => {
        const retryAfter = new Date(Date.now() + 60_000).toUTCString();
        service.faults.inject({ kind: 'status', status: 503, retryAfter });
        const answer = await send(endpoint, push);
        assert.equal(answer.headers['retry-after'], retryAfter);
        assert.deepEqual(JSON.parse(answer.body), {
          code: 503,
          errno: null,
          error: 'Service Unavailable',
          message: 'injected fault',
        });
      },
    );

    await t.test('every status from 200 to 599 can be injected', async () => {
      for (const status of [200, 202, 204, 301, 304, 307, 400, 401, 404, 406, 410, 413, 500, 502, 504, 599]) {
        service.faults.inject({ kind: 'status', status, times: 1 });
        assert.equal((await send(endpoint, push)).status, status);
      }
    });

    await t.test('a delay gives the right answer late', async () => {
      service.faults.inject({ kind: 'delay', ms: 150 });
      const startedMs = performance.now();
      assert.equal((await send(endpoint, push)).status, 201);
      assert.ok(performance.now() - startedMs >= 145);
    });

    await t.test('a sender that leaves before a late answer does no harm', async () => {
      const before = messages() ?? 0;
      const faults = () => service.statistics().events.fault ?? 0;
      service.faults.inject({ kind: 'delay', ms: 50, times: 1 });
      service.faults.inject({ kind: 'reset', times: 1 });
      // the reset takes the connection away while the answer is still to come
      assert.deepEqual(await outcomes(send, endpoint, 2), ['broken', 201]);
      const socket = connectTcp(service.port, '127.0.0.1');
      service.faults.inject({ kind: 'delay', ms: 50, times: 1 });
      const hits = faults();
      socket.write(
        `POST ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\nttl: 1\r\ncontent-length: 0\r\n\r\n`,
      );
      await until(() => faults() > hits, 'the delay to begin');
      socket.resetAndDestroy();
      await until(() => messages() === before + 2, 'both messages');
      assert.equal((await send(endpoint, push)).status, 201);
    });

    await t.test('a hang gives no answer for as long as one waits', async () => {
      service.faults.inject({ kind: 'hang', times: 1 });
      const hanging = send(endpoint, push).then(
        () => 'answered',
        () => 'broken',
      );
      const other = await send(endpoint, push);
      assert.equal(other.status, 201, 'the next request is served');
      const patience = new Promise((resolve) => setTimeout(resolve, 200, 'silence'));
      assert.equal(await Promise.race([hanging, patience]), 'silence');
    });

    await t.test('half an answer breaks after the message was accepted', async () => {
      const before = messages() ?? 0;
      service.faults.inject({ kind: 'half', times: 1 });
      assert.deepEqual(await outcomes(send, endpoint, 2), ['broken', 201]);
      assert.equal(messages(), before + 2);
    });

    for (const kind of ['reset', 'reset-stream'] as const) {
      await t.test(`${kind} breaks before the message is accepted, or after it`, async () => {
        const before = messages() ?? 0;
        service.faults.inject({ kind, times: 1 });
        assert.deepEqual(await outcomes(send, endpoint, 2), ['broken', 201]);
        assert.equal(messages(), before + 1);
        service.faults.inject({ kind, times: 1, afterAccepting: true });
        assert.deepEqual(await outcomes(send, endpoint, 2), ['broken', 201]);
        assert.equal(messages(), before + 3);
      });
    }
  });
}

test('half an answer begins with the status and headers of the right one', async (t) => {
  const { service, endpoint } = await startWithSinks(t);
  service.faults.inject({ kind: 'half' });
  const response = await fetch(endpoint, { method: 'POST', ...push });
  assert.equal(response.status, 201);
  await assert.rejects(response.text());

  const session = connectTo(t, service);
  const stream = session.request({
    ':method': 'POST',
    ':path': new URL(endpoint).pathname,
    ...push.headers,
  });
  stream.on('error', () => undefined);
  stream.end(push.body);
  const [status, received, code] = await new Promise<[unknown, number, number | undefined]>((resolve) => {
    let statusSeen: unknown;
    let bytes = 0;
    stream.on('response', (headers) => (statusSeen = headers[':status']));
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    stream.on('close', () => resolve([statusSeen, bytes, stream.rstCode]));
  });
  assert.equal(status, 201);
  assert.ok(received > 0);
  assert.equal(code, 2, 'INTERNAL_ERROR');
});

test('over HTTP/2 a reset takes the whole connection, a stream reset only its stream', async (t) => {
  const { service, endpoint, other } = await startWithSinks(t, 2);
  const session = connectTo(t, service);

  service.faults.inject({ kind: 'reset-stream', endpoint, times: 1 });
  await assert.rejects(sendOn(session, endpoint, push), /closed with 7|REFUSED_STREAM/);
  assert.equal((await sendOn(session, other, push)).status, 201);

  service.faults.inject({ kind: 'reset-stream', code: 11, endpoint, times: 1 });
  await assert.rejects(sendOn(session, endpoint, push), /closed with 11|ENHANCE_YOUR_CALM/);

  service.faults.inject({ kind: 'delay', ms: 5000, endpoint: other });
  const waiting = sendOn(session, other, push);
  service.faults.inject({ kind: 'reset', endpoint });
  await Promise.all([assert.rejects(waiting), assert.rejects(sendOn(session, endpoint, push))]);
  assert.equal(session.destroyed, true);
});

test('GOAWAY names the last stream that is processed; every later one stays unprocessed', async (t) => {
  const { service, endpoints } = await startWithSinks(t, 60);
  service.faults.inject({ kind: 'goaway', afterStreams: 20 });
  const session = connectTo(t, service);
  const goAways: [number, number][] = [];
  session.on('goaway', (code, lastStreamId) => goAways.push([code, lastStreamId]));
  const isClosed = new Promise((resolve) => session.once('close', resolve));
  const results = await Promise.allSettled(endpoints.map((endpoint) => sendOn(session, endpoint, push)));
  await isClosed;
  // streams of a client have odd numbers
  assert.deepEqual(goAways[0], [0, 39]);
  assert.ok(
    goAways.every(([, lastStreamId]) => lastStreamId === 39),
    'a later GOAWAY takes nothing back',
  );
  const answered = results.map((result) => result.status === 'fulfilled' && result.value.status === 201);
  assert.deepEqual(answered, [...Array(20).fill(true), ...Array(40).fill(false)]);
  const [tally] = service.tallySinks();
  assert.deepEqual(tally?.sinksByMessages, { 0: 40, 1: 20 });
});

test('GOAWAY meets each new connection again, with the error code it was told', async (t) => {
  const { service, endpoint } = await startWithSinks(t);
  service.faults.inject({ kind: 'goaway', afterStreams: 2, code: 11 });
  for (let i = 0; i < 2; i += 1) {
    const session = connectTo(t, service);
    const goAway = new Promise((resolve) => session.once('goaway', (code) => resolve(code)));
    assert.equal((await sendOn(session, endpoint, push)).status, 201);
    void sendOn(session, endpoint, push).catch(() => undefined);
    assert.equal(await goAway, 11);
  }
});

test('over HTTP/1.1 the n-th answer of a connection says that it is the last', async (t) => {
  const { service, endpoint } = await startWithSinks(t);
  service.faults.inject({ kind: 'goaway', afterStreams: 1 });
  const { status, headers } = await sendByHttp1(endpoint, push);
  assert.deepEqual([status, headers['connection']], [201, 'close']);
});

test('faults meet the next n, a share, one endpoint, or a while', async (t) => {
  let now = Date.now();
  const { service, endpoint, other } = await startWithSinks(t, 2, { now: () => now });
  const cases: [string, Fault, (number | 'broken')[]][] = [
    ['the next two', { kind: 'status', status: 500, times: 2 }, [500, 500, 201, 201]],
    ['every fourth', { kind: 'status', status: 500, share: 0.25 }, [201, 201, 201, 500, 201, 201, 201, 500]],
    [
      'every other, twice',
      { kind: 'status', status: 500, share: 0.5, times: 2 },
      [201, 500, 201, 500, 201, 201],
    ],
    ['one endpoint', { kind: 'status', status: 500, endpoint }, [500, 500]],
    ['another endpoint', { kind: 'status', status: 500, endpoint: other }, [201, 201]],
  ];
  for (const [title, fault, expected] of cases) {
    await t.test(title, async () => {
      service.faults.clear();
      service.faults.inject(fault);
      assert.deepEqual(await outcomes(sendByHttp2, endpoint, expected.length), expected);
    });
  }
  await t.test('a tenth of a thousand is a hundred', async () => {
    service.faults.clear();
    service.faults.inject({ kind: 'status', status: 500, share: 0.1 });
    const session = connectTo(t, service);
    const all = Array.from({ length: 1000 }, () => sendOn(session, endpoint, push));
    const failed = (await Promise.all(all)).filter(({ status }: Received) => status === 500);
    assert.equal(failed.length, 100);
  });
  await t.test('a while', async () => {
    service.faults.clear();
    service.faults.inject({ kind: 'reset', forMs: 60_000 });
    assert.deepEqual(await outcomes(sendByHttp1, endpoint, 2), ['broken', 'broken']);
    now += 60_000;
    assert.deepEqual(await outcomes(sendByHttp1, endpoint, 1), [201]);
    assert.deepEqual(service.faults.list(), []);
  });
});

test('a request meets every delay and the first other fault', async (t) => {
  const { service, endpoint } = await startWithSinks(t);
  const first = service.faults.inject({ kind: 'status', status: 500, times: 1 });
  service.faults.inject({ kind: 'delay', ms: 1 });
  const second = service.faults.inject({ kind: 'status', status: 502 });
  assert.deepEqual(await outcomes(sendByHttp2, endpoint, 2), [500, 502]);
  assert.deepEqual(
    service.faults.list().map(({ fault, hits }) => [fault.kind, hits]),
    [
      ['delay', 2],
      ['status', 1],
    ],
  );
  assert.equal(service.faults.cancel(first.id), false, 'used up');
  assert.equal(service.faults.cancel(second.id), true);
  assert.deepEqual(await outcomes(sendByHttp2, endpoint, 1), [201]);
});

test('delays that meet the same request add up', async (t) => {
  const { service, endpoint } = await startWithSinks(t);
  for (let number = 1; number <= 3; number += 1) service.faults.inject({ kind: 'delay', ms: 50 });
  const startedMs = performance.now();
  assert.deepEqual(await outcomes(sendByHttp1, endpoint, 1), [201]);
  assert.ok(performance.now() - startedMs >= 145);
  assert.equal(service.statistics().events.fault, 1, 'they are one event');
});

const wrong: [unknown, RegExp][] = [
  [undefined, /must be an object/],
  [[], /must be an object/],
  [{}, /"kind" of a fault must be one of status, delay, hang, half, reset, reset-stream, goaway/],
  [{ kind: 'fire' }, /"kind"/],
  [{ kind: 'status' }, /needs "status": an integer from 200 to 599/],
  [{ kind: 'status', status: 100 }, /"status" of a fault must be an integer from 200 to 599/],
  [{ kind: 'status', status: 500, retryAfter: -1 }, /seconds or an HTTP date/],
  [{ kind: 'status', status: 500, retryAfter: 'a\r\nb: c' }, /seconds or an HTTP date/],
  [{ kind: 'status', status: 500, headers: { 'a b': 'c' } }, /header names and values/],
  [{ kind: 'status', status: 500, headers: { a: 'b\r\nc: d' } }, /header names and values/],
  [{ kind: 'status', status: 500, ms: 5 }, /has no "ms"; it has/],
  [{ kind: 'delay' }, /needs "ms"/],
  [{ kind: 'delay', ms: '5' }, /"ms"/],
  [{ kind: 'delay', ms: 5, afterAccepting: true }, /has no "afterAccepting"/],
  [{ kind: 'half', afterAccepting: true }, /has no "afterAccepting"/],
  [{ kind: 'goaway' }, /needs "afterStreams"/],
  [{ kind: 'goaway', afterStreams: 0 }, /"afterStreams"/],
  [{ kind: 'reset-stream', code: -1 }, /"code"/],
  [{ kind: 'hang', times: 0 }, /"times"/],
  [{ kind: 'hang', share: 0 }, /"share"/],
  [{ kind: 'hang', share: 1.1 }, /"share"/],
  [{ kind: 'hang', endpoint: 5 }, /"endpoint"/],
  [{ kind: 'hang', forMs: 0 }, /"forMs"/],
  [{ kind: 'hang', afterAccepting: 'yes' }, /"afterAccepting"/],
];
test('a fault that is not well-formed is refused in words', async (t) => {
  const { faults } = await start(t);
  for (const [fault, message] of wrong) {
    assert.throws(() => faults.inject(fault as Fault), { name: 'TypeError', message });
  }
  assert.deepEqual(faults.list(), []);
});
