// Every status that a push service may answer with, against whole broadcasts: what becomes of the row, of its
// subscription, how often and when it is tried. The push service's own record is compared with the attempt log.
import assert from 'node:assert/strict';
import { suspensionPolicy } from '../../src/store/push-services.ts';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';

import type { Settlement } from '../../src/store/broadcasts.ts';
import type { RejectionReason } from '../../src/protocol/refusal-reason.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { noCounts } from '../store/made-up-subscription.ts';
import { startServer } from '../transport/peers.ts';
import {
  broadcastToAll,
  fastRetries,
  message,
  openStage,
  openStageWithRecorder,
  protocols,
  vapidKeys,
  type Sink,
  type RecordingPushService,
  type RecordedRequest,
} from './fault-stage.ts';
import { pluck } from '../../tools/pluck.ts';

interface StatusCase {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly retryAfter?: number | string;
  readonly body?: string;
  /** The fault meets the first request only; by default all. */
  readonly isPassing?: boolean;
  readonly becomes: Settlement;
  readonly alarm?: RejectionReason;
}

const passing = { isPassing: true, becomes: 'accepted' } as const;
const reject = (alarm: RejectionReason) => ({ becomes: 'rejected', alarm }) as const;
const errno = (number: number) => JSON.stringify({ code: 400, errno: number, message: 'no' });
const apple = (reason: string) => JSON.stringify({ reason });

const cases: readonly StatusCase[] = [
  ...[200, 201, 202, 204, 299].map((status) => ({ status, becomes: 'accepted' }) as const),
  { status: 200, headers: { 'x-wns-status': 'received' }, becomes: 'accepted' },
  { status: 200, headers: { 'x-wns-status': 'dropped' }, becomes: 'rejected' },
  { status: 200, headers: { 'x-wns-status': 'channelthrottled' }, ...passing },
  ...[300, 301, 302, 303, 304, 307, 308].map((status) => ({ status, ...reject('redirected') })),
  { status: 400, body: 'bad TTL, perhaps', ...reject('bad-request') },
  { status: 400, body: `${'n'.repeat(29)} ${'no '.repeat(56)}${'😀'.repeat(5)}`, ...reject('bad-request') },
  { status: 400, body: errno(110), ...reject('bad-encryption') },
  { status: 400, body: errno(111), ...reject('bad-ttl') },
  { status: 400, body: errno(113), ...reject('bad-topic') },
  { status: 400, body: apple('BadTtl'), ...reject('bad-ttl') },
  { status: 400, body: apple('BadUrgency'), ...reject('bad-urgency') },
  { status: 400, body: apple('BadWebPushTopic'), ...reject('bad-topic') },
  { status: 400, body: apple('VapidPkHashMismatch'), ...reject('vapid-key-mismatch') },
  { status: 400, body: 'UnauthorizedRegistration', ...reject('vapid-key-mismatch') },
  {
    status: 400,
    headers: { 'x-wns-error-description': 'Cache-Policy does not fit the TTL' },
    ...reject('cache-policy'),
  },
  { status: 401, ...reject('vapid-refused') },
  { status: 401, body: 'VAPID public key mismatch', ...reject('vapid-key-mismatch') },
  { status: 403, body: apple('BadJwtToken'), ...reject('vapid-refused') },
  ...[402, 405, 409, 411, 414, 415, 418, 422, 431, 451].map((status) => ({
    status,
    ...reject('unexpected-status'),
  })),
  { status: 404, becomes: 'gone' },
  { status: 410, becomes: 'gone' },
  { status: 410, body: '<html><title>NotRegistered</title></html>', becomes: 'gone' },
  { status: 413, ...reject('payload-too-large') },
  { status: 413, body: apple('PayloadTooLarge'), ...reject('payload-too-large') },
  ...[406, 408, 421, 425, 429, 500, 501, 502, 503, 504, 507, 599].map((status) => ({ status, ...passing })),
  ...[406, 429, 503].map((status) => ({ status, retryAfter: 1, ...passing })),
  { status: 429, retryAfter: 0, ...passing },
  { status: 429, retryAfter: 'soon', ...passing },
  { status: 503, retryAfter: new Date(Date.now() - 60_000).toUTCString(), ...passing },
  ...[429, 500].map((status) => ({ status, becomes: 'exhausted' }) as const),
];

const sinksPerCase = 4;
/** Few, so that those which fail always do not end in a run of failures, for which the origin would be left alone. */
const retryPolicy = { ...fastRetries, maxAttempts: 3 };

/** How often a row is tried again. */
function retriesOf({ becomes, isPassing, alarm }: StatusCase): number {
  if (becomes === 'exhausted') return retryPolicy.maxAttempts - 1;
  if (isPassing === true) return 1;
  // a refusal of our token is the row's own only where others are accepted again and again
  return alarm === 'vapid-refused' ? suspensionPolicy.maxRefusals - 1 : 0;
}

/** A row that only fault `answer` may meet. */
function injectStatus(recorder: RecordingPushService, sink: Sink, answer: StatusCase): void {
  const { status, headers, retryAfter, body, isPassing } = answer;
  recorder.faults.inject({
    kind: 'status',
    endpoint: sink.endpoint,
    status,
    // what a push service answers with 2xx it has accepted, as a rule
    afterAccepting: answer.becomes === 'accepted' && isPassing !== true,
    ...(headers !== undefined && { headers }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(body !== undefined && { body }),
    ...(isPassing === true && { times: 1 }),
  });
}

describe('answers of push services:', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    test(`over ${protocol} every status leads to its outcome, row by row, in one broadcast`, async (t) => {
      const { stage, recorder } = await openStageWithRecorder(t, protocol);
      const faulty = cases.flatMap((answer) =>
        recorder.sinks(answer.becomes === 'exhausted' ? 1 : sinksPerCase).map((sink) => {
          injectStatus(recorder, sink, answer);
          return { answer, sink };
        }),
      );
      const good = recorder.sinks(faulty.length);
      const rows = await stage.enroll(faulty.flatMap(({ sink }, index) => [sink, good[index] as Sink]));

      const broadcast = await broadcastToAll(stage, { sender: { retryPolicy } });

      const counts = { ...noCounts, accepted: good.length };
      const alarms = new Map<string, number>();
      for (const { answer } of faulty) {
        counts[answer.becomes] += 1;
        if (answer.alarm !== undefined) alarms.set(answer.alarm, (alarms.get(answer.alarm) ?? 0) + 1);
      }
      assert.deepEqual(broadcast.counts, counts);

      assert.deepEqual(new Map(broadcast.alarms.map((alarm) => [alarm.reason, alarm.rows])), alarms);
      assert.deepEqual(new Set(pluck(broadcast.alarms, 'origin')), new Set([recorder.origin]));
      const kept = new Set((await stage.stored()).map(({ endpoint }) => endpoint));
      const attempts = await stage.attempts(broadcast.id);
      assert.deepEqual(new Set(recorder.received(good)), new Set([1]));
      for (const [index, { answer, sink }] of faulty.entries()) {
        const { status, isPassing, becomes } = answer;
        const what = JSON.stringify(answer);
        assert.equal(kept.has(sink.endpoint), becomes !== 'gone', `${what}: is it kept`);
        assert.deepEqual(recorder.received([sink]), [becomes === 'accepted' ? 1 : 0], `${what}: messages`);

        const tried = attempts.get(rows[2 * index]?.id ?? 0) ?? [];
        const retries = Array.from({ length: retriesOf(answer) }, () => ['retry', status]);
        const expected = [...retries, isPassing === true ? ['accepted', 201] : [becomes, status]];
        assert.deepEqual(pluck(tried, 'outcome', 'status'), expected, what);
        // a 2xx that was accepted is seen twice: as what it would have been, and as the fault
        const requests: RecordedRequest[] = recorder
          .seenOf(sink)
          .filter((seen) => seen.what === 'status' || isPassing === true);
        assert.equal(requests.length, expected.length, `${what}: what the push service saw`);
      }
    });

    test(`over ${protocol} a push service that throttles everybody is left alone until Retry-After, and all arrives`, async (t) => {
      const { stage, recorder, sinks } = await openStageWithRecorder(t, protocol, 400);
      recorder.faults.inject({ kind: 'status', status: 429, retryAfter: 1, forMs: 500 });

      const broadcast = await broadcastToAll(stage);
      assert.equal(broadcast.counts.accepted, sinks.length);
      assert.deepEqual(new Set(recorder.received(sinks)), new Set([1]));
      const refused = recorder.seen.filter(({ what }) => what === 'status');
      // those in flight at the first answer, and perhaps a probe
      assert.ok(refused.length <= 110, `${refused.length} requests were thrown at it`);
      for (const sink of sinks) {
        const requests = recorder.seenOf(sink);
        for (const [index, { what, atMs }] of requests.entries()) {
          const nextMs = requests[index + 1]?.atMs;
          assert.ok(what === 201 ? nextMs === undefined : Number(nextMs) >= atMs + 1000);
        }
      }
    });
  }

  test('each row is signed with the key that it was made with; a key that is not ours is not guessed at', async (t) => {
    const { stage, recorder, sinks: current } = await openStageWithRecorder(t, 'HTTP/2', 60);
    const [previous, foreign] = [generateVapidKeys(), generateVapidKeys()];
    // these push services check the key: one that is not the subscription's is answered with 403
    const old = recorder.sinks(60, previous.publicKey);
    const lost = recorder.sinks(60, foreign.publicKey);
    await stage.enroll(old, previous);
    await stage.enroll(lost, foreign);

    const vapid = { ...vapidKeys, subject: 'mailto:push@example.org', previousKeys: [previous] };
    const broadcast = await broadcastToAll(stage, { sender: { vapid } });
    assert.deepEqual(new Set(recorder.received([...current, ...old])), new Set([1]));
    assert.deepEqual(new Set(recorder.received(lost)), new Set([0]));
    assert.deepEqual(pluck(broadcast.alarms, 'reason', 'rows'), [['vapid-key-mismatch', 60]]);
    assert.equal(recorder.service.statistics().answers[403], undefined, 'nothing was sent with a wrong key');
    assert.equal((await stage.stored()).length, 180);
  });

  test('a repetition tells the push service what is left of the TTL', async (t) => {
    const told: number[] = [];
    const labels: unknown[] = [];
    const server = createServer((request, response) => {
      const { ttl, urgency, topic } = request.headers;
      told.push(Number(ttl));
      labels.push([urgency, topic]);
      request.resume().on('end', () => {
        response.writeHead(told.length < 3 ? 500 : 201, { 'content-length': '0' }).end();
      });
    });
    const { origin, close } = await startServer(server, 'http');
    t.after(close);
    const stage = await openStage(t, 'HTTP/1.1');
    const [sink] = stage.recorders[0]?.sinks(1) ?? [];
    assert.ok(sink);
    const subscription = { ...sink, endpoint: `${origin}/wpush/only` };
    const inASecond = { ...fastRetries, firstDelayMs: 1200, maxDelayMs: 1200 };
    const sender = stage.sender({ pushServices: [origin], retryPolicy: inASecond });
    const options = { ttlSeconds: 60, urgency: 'high', topic: 'tea' } as const;
    const run = await sender.broadcast({ subscriptions: [subscription] }, message, options);
    assert.equal((await stage.finish(run)).counts.accepted, 1);
    assert.deepEqual(
      labels,
      Array.from({ length: 3 }, () => ['high', 'tea']),
    );
    assert.equal(told[0], 60);
    assert.ok((told[1] ?? 60) <= 58 && (told[2] ?? 60) <= (told[1] ?? 0) - 1, `told ${told.join(', ')}`);
  });

  test('neither the attempt log nor alarms hold an endpoint, a key or the message, whatever a push service says', async (t) => {
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
    const sinks = recorder.sinks(40);
    const tellTale = [
      ({ endpoint }: Sink) => `no such subscription: ${endpoint}`,
      ({ endpoint }: Sink) =>
        JSON.stringify({ errno: 102, message: `POST ${new URL(endpoint).pathname}: 404` }),
      ({ p256dh }: Sink) => `cannot decrypt with ${p256dh}`,
      () => `${'x'.repeat(5000)}\r\n\u001b[31m${'y'.repeat(5000)}`,
    ];
    for (const [index, sink] of sinks.entries()) {
      const body = tellTale[index % tellTale.length]?.(sink) ?? '';
      const status = [400, 404, 405, 418, 413][index % 5] ?? 400;
      recorder.faults.inject({ kind: 'status', status, body, endpoint: sink.endpoint });
    }
    await stage.enroll(sinks);
    const broadcast = await broadcastToAll(stage, { sender: { retryPolicy } });
    const { payload: _payload, ...told } = broadcast;
    const log = await stage.store.attempts.list({ broadcastId: broadcast.id, limit: 1000 });
    assert.equal(log.length, sinks.length);
    const text = JSON.stringify([told, log]);
    for (const { endpoint, p256dh, auth } of sinks) {
      const token = endpoint.slice(endpoint.lastIndexOf('/') + 1);
      for (const secret of [token, p256dh, auth]) assert.ok(!text.includes(secret), `${secret} in the log`);
    }
    assert.ok(!text.includes(message.title) && !text.includes(message.message));
    assert.ok(log.every(({ detail = '' }) => detail.length <= 200 && !/\p{Cc}/u.test(detail)));
  });
});
