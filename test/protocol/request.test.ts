import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { pushHeaders, toTopic, type PushOptions } from '../../src/protocol/request.ts';

const mozilla = 'https://updates.push.services.mozilla.com';
const windows = 'https://db5p.notify.windows.com';

test('the headers of a push request are those of RFC 8030, 8188 and 8292', () => {
  assert.deepEqual(
    pushHeaders({ ttlSeconds: 60, urgency: 'high', topic: 'upd' }, 'vapid t=a, k=b', mozilla),
    {
      ttl: '60',
      urgency: 'high',
      topic: 'upd',
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      authorization: 'vapid t=a, k=b',
    },
  );
});

test('without options a message lives four weeks, has normal urgency and no topic', () => {
  const headers = pushHeaders({}, 'vapid t=a, k=b', mozilla);
  assert.equal(headers['ttl'], '2419200');
  assert.equal(headers['urgency'], 'normal');
  assert.ok(!('topic' in headers));
});

const cachePolicies: readonly [string, number, string | undefined][] = [
  [windows, 0, 'no-cache'],
  [windows, 60, 'cache'],
  [mozilla, 0, undefined],
  [mozilla, 60, undefined],
  ['https://notify.windows.com.example.org', 60, undefined],
  ['https://evilnotify.windows.com', 60, undefined],
];
for (const [origin, ttlSeconds, cachePolicy] of cachePolicies) {
  test(`${origin} with TTL ${ttlSeconds}: cache policy ${cachePolicy ?? 'not sent'}`, () => {
    assert.equal(pushHeaders({ ttlSeconds }, '', origin)['x-wns-cache-policy'], cachePolicy);
  });
}

const seconds = 'give a whole number from 0 to 2147483647.';
const names = 'give one of very-low, low, normal, high.';
const refused: readonly [options: object, message: string][] = [
  [{ ttlSeconds: -1 }, `ttlSeconds is -1; ${seconds}`],
  [{ ttlSeconds: 1.5 }, `ttlSeconds is 1.5; ${seconds}`],
  [{ ttlSeconds: Number.NaN }, `ttlSeconds is NaN; ${seconds}`],
  [{ ttlSeconds: '60' }, `ttlSeconds is of type string; ${seconds}`],
  [{ ttlSeconds: 2 ** 31 }, `ttlSeconds is 2147483648; ${seconds}`],
  [{ ttlSeconds: Infinity }, `ttlSeconds is Infinity; ${seconds}`],
  [{ ttlSeconds: null }, `ttlSeconds is of type null; ${seconds}`],
  [{ urgency: 'urgent' }, `urgency is "urgent"; ${names}`],
  [{ urgency: 'High' }, `urgency is "High"; ${names}`],
  [{ urgency: 1 }, `urgency is of type number; ${names}`],
  [{ urgency: 1n }, `urgency is of type bigint; ${names}`],
  [{ topic: 1 }, 'topic is of type number; give a string.'],
];
for (const [options, message] of refused) {
  test(`an option is refused: ${message}`, () => {
    assert.throws(() => pushHeaders(options as PushOptions, '', mozilla), {
      code: 'ERR_MESSAGE_INVALID',
      message,
    });
  });
}

test('a label that is no text is no topic', () => {
  assert.throws(() => toTopic(1 as unknown as string), {
    code: 'ERR_MESSAGE_INVALID',
    message: 'topic is of type number; give a string.',
  });
});

test('a legal topic stays as it is', () => {
  for (const topic of ['ab', 'abc', 'abcd', 'Topic_1-', 'x'.repeat(32)]) assert.equal(toTopic(topic), topic);
});

test('a topic that is too long, or that Apple refuses for its length, gets another', () => {
  for (const topic of ['a', 'abcde', 'x'.repeat(29), 'x'.repeat(34), 'x'.repeat(64)]) {
    assert.notEqual(toTopic(topic), topic);
    assert.equal(toTopic(topic).length, 32);
  }
});

test('any label becomes a legal topic, always the same, and different labels different ones', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (label, other) => {
      const topic = toTopic(label);
      assert.match(topic, /^[A-Za-z0-9_-]{2,32}$/);
      assert.notEqual(topic.length % 4, 1);
      assert.equal(toTopic(label), topic);
      if (label.toWellFormed() !== other.toWellFormed()) assert.notEqual(toTopic(other), topic);
    }),
    { numRuns: 1000 },
  );
});
