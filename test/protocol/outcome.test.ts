// The table of what push services answer, status by status and vendor by vendor.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readResponse, type Outcome } from '../../src/protocol/outcome.ts';

const fcm = 'https://fcm.googleapis.com';
const mozilla = 'https://updates.push.services.mozilla.com';
const windows = 'https://db5p.notify.windows.com';
const apple = 'https://web.push.apple.com';
const nowMs = Date.UTC(2026, 10, 21, 1, 0, 0);

const outcomeOf = (
  origin: string,
  status: number,
  { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {},
): Outcome => readResponse(origin, { status, headers, body }, { nowMs });

const autopush = (code: number, errno: number, message: string): { body: string } => ({
  body: JSON.stringify({ code, errno, error: 'Error', message, more_info: 'http://autopush.example/errors' }),
});
const appleReason = (reason: string): { body: string } => ({ body: JSON.stringify({ reason }) });
const retryAfter = (value: string): { headers: Record<string, string> } => ({
  headers: { 'retry-after': value },
});
const windowsHeaders = (headers: Record<string, string>): { headers: Record<string, string> } => ({
  headers,
});
const fcmHtml = (title: string): { body: string } => ({
  body: `<HTML>\n<HEAD>\n<TITLE>${title}</TITLE>\n</HEAD>\n<BODY>\n<H1>${title}</H1>\n</BODY>\n</HTML>\n`,
});
const fcmMismatch = {
  body: 'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n',
};

type Answer = Parameters<typeof outcomeOf>[2];

test('201 with a Location is accepted and names the message', () => {
  assert.deepEqual(outcomeOf(mozilla, 201, { headers: { location: `${mozilla}/m/gAAAA` } }), {
    kind: 'accepted',
    messageUrl: `${mozilla}/m/gAAAA`,
  });
});
test('a Location that is only a path is taken from the origin', () => {
  assert.deepEqual(outcomeOf('http://127.0.0.1:8090', 201, { headers: { location: '/m/1' } }), {
    kind: 'accepted',
    messageUrl: 'http://127.0.0.1:8090/m/1',
  });
});
for (const [location, messageUrl] of [
  ['http://push.example.net/m/1', 'http://push.example.net/m/1'],
  ['m/1', 'http://127.0.0.1:8090/m/1'],
  ['/m/https://a', 'http://127.0.0.1:8090/m/https://a'],
  ['https:///m/1', 'https://m/1'],
] as const) {
  test(`a Location "${location}" names ${messageUrl}`, () => {
    const outcome = outcomeOf('http://127.0.0.1:8090', 201, { headers: { location } });
    assert.deepEqual(outcome, { kind: 'accepted', messageUrl });
  });
}
for (const [status, kind, reason] of [
  [299, 'accepted', undefined],
  [300, 'rejected', 'redirected'],
  [399, 'rejected', 'redirected'],
  [402, 'rejected', 'unexpected-status'],
  [499, 'rejected', 'unexpected-status'],
  [500, 'retry', 'server-error'],
  [599, 'retry', 'server-error'],
  [600, 'rejected', 'unexpected-status'],
  [199, 'rejected', 'unexpected-status'],
] as const) {
  test(`${status} is ${kind}${reason === undefined ? '' : `: ${reason}`}`, () => {
    const outcome = outcomeOf(fcm, status);
    assert.deepEqual([outcome.kind, 'reason' in outcome ? outcome.reason : undefined], [kind, reason]);
  });
}
for (const [status, reason] of [
  [400, 'vapid-key-mismatch'],
  [401, 'vapid-key-mismatch'],
  [403, 'vapid-key-mismatch'],
  [413, 'payload-too-large'],
  [402, 'unexpected-status'],
] as const) {
  test(`${status} with the words of a key mismatch is ${reason}`, () => {
    const outcome = outcomeOf(fcm, status, fcmMismatch);
    assert.equal('reason' in outcome && outcome.reason, reason);
  });
}
test('a Location that is nonsense does not undo the acceptance', () => {
  assert.deepEqual(outcomeOf(fcm, 201, { headers: { location: '//[' } }), { kind: 'accepted' });
});
test('201 of Apple is accepted with its apns-id', () => {
  const answer = { headers: { 'apns-id': '9F5B2D3E-1C1A-4D6B-8A11-0B1B8E0E8C7A' } };
  assert.deepEqual(outcomeOf(apple, 201, answer), {
    kind: 'accepted',
    messageId: '9F5B2D3E-1C1A-4D6B-8A11-0B1B8E0E8C7A',
  });
});
for (const status of [200, 201, 202, 204]) {
  test(`${status} is accepted`, () => assert.deepEqual(outcomeOf(fcm, status), { kind: 'accepted' }));
}
test('201 of WNS that was received is accepted with its message id', () => {
  assert.deepEqual(
    outcomeOf(windows, 201, windowsHeaders({ 'x-wns-status': 'received', 'x-wns-msg-id': '1A2B' })),
    {
      kind: 'accepted',
      messageId: '1A2B',
    },
  );
});

const gone: readonly [string, string, number, Answer?][] = [
  ['404 of FCM: stale token', fcm, 404, fcmHtml('Not Found')],
  ['404 of Mozilla, errno 102', mozilla, 404, autopush(404, 102, 'Invalid token')],
  ['404 of WNS: bad channel', windows, 404],
  ['404 of Apple', apple, 404, appleReason('BadPath')],
  ['410 of FCM: NotRegistered', fcm, 410, fcmHtml('NotRegistered')],
  ['410 of Mozilla, errno 103', mozilla, 410, autopush(410, 103, 'Subscription expired')],
  ['410 of Mozilla, errno 105', mozilla, 410, autopush(410, 105, 'Endpoint became unavailable')],
  ['410 of Mozilla, errno 106', mozilla, 410, autopush(410, 106, 'Invalid subscription')],
  ['410 of WNS: revoked', windows, 410],
  ['410 of Apple: Unregistered', apple, 410, appleReason('Unregistered')],
];
for (const [what, origin, status, answer] of gone) {
  test(`${what}: the subscription is gone`, () =>
    assert.equal(outcomeOf(origin, status, answer).kind, 'gone'));
}

type Retry = Extract<Outcome, { kind: 'retry' }>;
const retries: readonly [
  string,
  string,
  number,
  Answer | undefined,
  Pick<Retry, 'reason' | 'slowsOrigin' | 'afterMs'>,
][] = [
  ['429 of FCM', fcm, 429, retryAfter('30'), { reason: 'throttled', slowsOrigin: true, afterMs: 30_000 }],
  ['429 of WNS', windows, 429, undefined, { reason: 'throttled', slowsOrigin: true }],
  ['429 of Apple', apple, 429, appleReason('TooManyRequests'), { reason: 'throttled', slowsOrigin: true }],
  [
    '406 of WNS',
    windows,
    406,
    retryAfter('900'),
    { reason: 'throttled', slowsOrigin: true, afterMs: 900_000 },
  ],
  [
    '200 of WNS, channelthrottled',
    windows,
    200,
    windowsHeaders({ 'x-wns-status': 'channelthrottled' }),
    { reason: 'throttled', slowsOrigin: true },
  ],
  ['500 of FCM', fcm, 500, undefined, { reason: 'server-error', slowsOrigin: false }],
  [
    '500 of Mozilla, errno 901',
    mozilla,
    500,
    autopush(500, 901, 'x'),
    { reason: 'server-error', slowsOrigin: false },
  ],
  [
    '502 of Mozilla, errno 902',
    mozilla,
    502,
    autopush(502, 902, 'x'),
    { reason: 'server-error', slowsOrigin: false },
  ],
  [
    '503 of Mozilla, Retry-After 120',
    mozilla,
    503,
    retryAfter('120'),
    { reason: 'server-error', slowsOrigin: true, afterMs: 120_000 },
  ],
  ['504', fcm, 504, undefined, { reason: 'server-error', slowsOrigin: false }],
  ['507', fcm, 507, undefined, { reason: 'server-error', slowsOrigin: false }],
  ['408', fcm, 408, undefined, { reason: 'not-handled', slowsOrigin: false }],
  ['421', fcm, 421, undefined, { reason: 'not-handled', slowsOrigin: false }],
  ['425', fcm, 425, undefined, { reason: 'not-handled', slowsOrigin: false }],
];
for (const [what, origin, status, answer, expected] of retries) {
  test(`${what}: kept and tried again, ${expected.reason}`, () => {
    const { detail: _, kind, ...rest } = outcomeOf(origin, status, answer) as Retry;
    assert.equal(kind, 'retry');
    assert.deepEqual(rest, expected);
  });
}

type Rejected = Extract<Outcome, { kind: 'rejected' }>;
const rejections: readonly [
  string,
  string,
  number,
  Answer | undefined,
  Rejected['reason'],
  Rejected['scope'],
  boolean?,
][] = [
  ['400 of FCM', fcm, 400, { body: 'bad TTL' }, 'bad-request', 'message'],
  [
    '400 of FCM, UnauthorizedRegistration',
    fcm,
    400,
    fcmHtml('UnauthorizedRegistration'),
    'vapid-key-mismatch',
    'message',
  ],
  [
    '400 of Mozilla, errno 110',
    mozilla,
    400,
    autopush(400, 110, 'Invalid crypto keys'),
    'bad-encryption',
    'message',
  ],
  ['400 of Mozilla, errno 111', mozilla, 400, autopush(400, 111, 'Missing TTL'), 'bad-ttl', 'message'],
  ['400 of Mozilla, errno 113', mozilla, 400, autopush(400, 113, 'Invalid Topic'), 'bad-topic', 'message'],
  ['400 of Mozilla, unknown errno', mozilla, 400, autopush(400, 199, 'x'), 'bad-request', 'message'],
  [
    '400 of WNS, cache policy',
    windows,
    400,
    windowsHeaders({ 'x-wns-error-description': 'Ttl value conflicts with X-WNS-Cache-Policy.' }),
    'cache-policy',
    'message',
  ],
  [
    '400 of WNS',
    windows,
    400,
    windowsHeaders({ 'x-wns-error-description': 'Bad body' }),
    'bad-request',
    'message',
  ],
  ['400 of Apple, BadTtl', apple, 400, appleReason('BadTtl'), 'bad-ttl', 'message'],
  ['400 of Apple, BadUrgency', apple, 400, appleReason('BadUrgency'), 'bad-urgency', 'message'],
  ['400 of Apple, BadWebPushTopic', apple, 400, appleReason('BadWebPushTopic'), 'bad-topic', 'message'],
  [
    '400 of Apple, VapidPkHashMismatch',
    apple,
    400,
    appleReason('VapidPkHashMismatch'),
    'vapid-key-mismatch',
    'message',
  ],
  ['401 of FCM', fcm, 401, undefined, 'vapid-refused', 'origin'],
  [
    '401 of Mozilla, errno 109',
    mozilla,
    401,
    autopush(401, 109, 'Invalid VAPID audience'),
    'vapid-refused',
    'origin',
  ],
  [
    '401 of Mozilla, key mismatch',
    mozilla,
    401,
    autopush(401, 109, 'VAPID public key mismatch'),
    'vapid-key-mismatch',
    'message',
  ],
  ['401 of WNS', windows, 401, undefined, 'vapid-refused', 'origin'],
  ['403 of FCM', fcm, 403, { body: 'invalid JWT provided' }, 'vapid-refused', 'origin'],
  ['403 of FCM, key mismatch', fcm, 403, fcmMismatch, 'vapid-key-mismatch', 'message'],
  ['403 of WNS', windows, 403, undefined, 'vapid-key-mismatch', 'message'],
  ['403 of Apple, BadJwtToken', apple, 403, appleReason('BadJwtToken'), 'vapid-refused', 'origin'],
  ['413 of FCM', fcm, 413, undefined, 'payload-too-large', 'message'],
  [
    '413 of Mozilla, errno 104',
    mozilla,
    413,
    autopush(413, 104, 'Data payload too large'),
    'payload-too-large',
    'message',
  ],
  ['413 of Apple', apple, 413, appleReason('PayloadTooLarge'), 'payload-too-large', 'message'],
  [
    '200 of WNS, dropped',
    windows,
    200,
    windowsHeaders({ 'x-wns-status': 'dropped' }),
    'dropped',
    'message',
    false,
  ],
  [
    '200 of WNS, dropped, in its older words',
    windows,
    200,
    windowsHeaders({ 'x-wns-notificationstatus': 'dropped' }),
    'dropped',
    'message',
    false,
  ],
  ['301', mozilla, 301, { headers: { location: 'http://127.0.0.1/' } }, 'redirected', 'message'],
  ['302', fcm, 302, undefined, 'redirected', 'message'],
  ['307', fcm, 307, undefined, 'redirected', 'message'],
  ['308', fcm, 308, undefined, 'redirected', 'message'],
  ['304', fcm, 304, undefined, 'redirected', 'message'],
  ['402', fcm, 402, undefined, 'unexpected-status', 'message'],
  ['405', fcm, 405, undefined, 'unexpected-status', 'message'],
  ['415', fcm, 415, undefined, 'unexpected-status', 'message'],
  ['418', fcm, 418, undefined, 'unexpected-status', 'message'],
  ['600', fcm, 600, undefined, 'unexpected-status', 'message'],
  ['0', fcm, 0, undefined, 'unexpected-status', 'message'],
];
for (const [what, origin, status, answer, reason, scope, isAlarm = true] of rejections) {
  test(`${what}: kept and not repeated, ${reason} for the ${scope}`, () => {
    const { detail: _, ...rest } = outcomeOf(origin, status, answer) as Rejected;
    assert.deepEqual(rest, { kind: 'rejected', reason, scope, isAlarm });
  });
}

test('no status but 404 and 410 ever ends a subscription', () => {
  for (const origin of [fcm, mozilla, windows, apple, 'http://127.0.0.1:8090']) {
    for (let status = 0; status < 700; status += 1) {
      const isGone = outcomeOf(origin, status).kind === 'gone';
      assert.equal(isGone, status === 404 || status === 410, `${status} of ${origin}`);
    }
  }
});

const detailOf = (origin: string, status: number, answer: Answer): string | undefined => {
  const outcome = outcomeOf(origin, status, answer);
  return 'detail' in outcome ? outcome.detail : undefined;
};

test('the push service is quoted: JSON by its words, HTML by its title, text as it is', () => {
  assert.equal(
    detailOf(mozilla, 401, autopush(401, 109, 'Invalid VAPID expiry')),
    'errno 109: Invalid VAPID expiry',
  );
  assert.equal(detailOf(apple, 403, appleReason('BadJwtToken')), 'BadJwtToken');
  assert.equal(detailOf(fcm, 410, fcmHtml('NotRegistered')), 'NotRegistered');
  assert.equal(detailOf(fcm, 400, { body: 'bad\r\n TTL\u0000\n' }), 'bad TTL');
  assert.equal(detailOf(fcm, 400, { body: '{"broken' }), '{"broken');
  assert.equal(detailOf(fcm, 400, { body: '{"message":{"not":"text"}}' }), undefined);
  assert.equal(detailOf(fcm, 500, { body: '' }), undefined);
});

test('what is quoted is short and shows no endpoint', () => {
  assert.equal(detailOf(fcm, 400, { body: 'no '.repeat(2000) })?.length, 200);
  const token = 'gAAAAABn-x_7'.repeat(8);
  for (const [body, quoted] of [
    [
      `no such endpoint https://fcm.googleapis.com/wp/dHIo:APA91 here`,
      'no such endpoint https://fcm.googleapis.com/… here',
    ],
    [`no route: POST /wpush/v2/short, or /m/x`, 'no route: POST /… or /…'],
    [`token ${token} is not known`, 'token … is not known'],
    [`bad jwt eyJhbGciOiJFUzI1NiJ9.${token}.${token}`, 'bad jwt eyJhbGciOiJFUzI1NiJ9.….…'],
    ['neither and/or, 12 h/24 h at https://example.org', 'neither and/or, 12 h/24 h at https://example.org'],
  ]) {
    assert.equal(detailOf(fcm, 404, { body: String(body) }), quoted);
  }
});
