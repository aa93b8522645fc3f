// The table of what push services answer, status by status and vendor by vendor.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Outcome, readResponse, readRetryAfterMs } from '../../src/protocol/outcome.ts';

const fcm = 'https://fcm.googleapis.com';
const mozilla = 'https://updates.push.services.mozilla.com';
const windows = 'https://db5p.notify.windows.com';
const apple = 'https://web.push.apple.com';
const nowMs = Date.UTC(2026, 10, 21, 1, 0, 0);

interface Answer {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
const outcomeOf = (origin: string, status: number, { headers = {}, body = '' }: Answer = {}): Outcome =>
  readResponse(origin, { status, headers, body }, { nowMs });

// What each vendor answers, in its own form.
type Answered = readonly [origin: string, status: number, answer?: Answer];
const ofFcm = (status: number, body = ''): Answered => [fcm, status, { body }];
const ofMozilla = (code: number, errno: number, message: string): Answered => [
  mozilla,
  code,
  {
    body: JSON.stringify({
      code,
      errno,
      error: 'Error',
      message,
      more_info: 'http://autopush.example/errors',
    }),
  },
];
const ofApple = (status: number, reason: string): Answered => [
  apple,
  status,
  { body: JSON.stringify({ reason }) },
];
const ofWindows = (status: number, headers: Answer['headers'] = {}): Answered => [
  windows,
  status,
  { headers },
];
const html = (title: string): string =>
  `<HTML>\n<HEAD>\n<TITLE>${title}</TITLE>\n</HEAD>\n<BODY>\n<H1>${title}</H1>\n</BODY>\n</HTML>\n`;
const fcmMismatch =
  'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n';
const titleOf = ([origin, status, answer = {}]: Answered): string =>
  `${status} of ${new URL(origin).host} with ${JSON.stringify(answer)}`;

const local = 'http://127.0.0.1:8090';
const ofLocal = (location: string): Answered => [local, 201, { headers: { location } }];
const accepted: readonly (readonly [Answered, object])[] = [
  [[mozilla, 201, { headers: { location: `${mozilla}/m/gAAAA` } }], { messageUrl: `${mozilla}/m/gAAAA` }],
  [ofLocal('/m/1'), { messageUrl: `${local}/m/1` }],
  [ofLocal('http://push.example.net/m/1'), { messageUrl: 'http://push.example.net/m/1' }],
  [ofLocal('m/1'), { messageUrl: `${local}/m/1` }],
  [ofLocal('/m/https://a'), { messageUrl: `${local}/m/https://a` }],
  [ofLocal('https:///m/1'), { messageUrl: 'https://m/1' }],
  // nonsense does not undo the acceptance
  [ofLocal('//['), {}],
  [[apple, 201, { headers: { 'apns-id': '9F5B2D3E' } }], { messageId: '9F5B2D3E' }],
  [ofWindows(201, { 'x-wns-status': 'received', 'x-wns-msg-id': '1A2B' }), { messageId: '1A2B' }],
  ...[200, 201, 202, 204, 299].map((status) => [ofFcm(status), {}] as const),
];
for (const [answered, expected] of accepted) {
  test(`${titleOf(answered)}: accepted`, () =>
    assert.deepEqual(outcomeOf(...answered), { kind: 'accepted', ...expected }));
}

for (const answered of [
  ofFcm(404, html('Not Found')),
  ofMozilla(404, 102, 'Invalid token'),
  ofWindows(404),
  ofApple(404, 'BadPath'),
  ofFcm(410, html('NotRegistered')),
  ofMozilla(410, 103, 'Subscription expired'),
  ofMozilla(410, 105, 'Endpoint became unavailable'),
  ofMozilla(410, 106, 'Invalid subscription'),
  ofWindows(410),
  ofApple(410, 'Unregistered'),
]) {
  test(`${titleOf(answered)}: the subscription is gone`, () =>
    assert.equal(outcomeOf(...answered).kind, 'gone'));
}

const after = (seconds: string) => ({ headers: { 'retry-after': seconds } });
const throttled = { reason: 'throttled', slowsOrigin: true };
const failed = { reason: 'server-error', slowsOrigin: false };
const notHandled = { reason: 'not-handled', slowsOrigin: false };
const retries: readonly (readonly [Answered, object])[] = [
  [[fcm, 429, after('30')], { ...throttled, afterMs: 30_000 }],
  [ofWindows(429), throttled],
  [ofApple(429, 'TooManyRequests'), throttled],
  [[windows, 406, after('900')], { ...throttled, afterMs: 900_000 }],
  [[fcm, 406], throttled],
  [ofWindows(200, { 'x-wns-status': 'channelthrottled' }), throttled],
  [ofWindows(202, { 'x-wns-notificationstatus': 'channelthrottled' }), throttled],
  [ofFcm(500), failed],
  [[fcm, 500, after('7')], { ...failed, afterMs: 7000 }],
  [[fcm, 408, after('7')], { ...notHandled, afterMs: 7000 }],
  [ofMozilla(500, 901, 'x'), failed],
  [ofMozilla(502, 902, 'x'), failed],
  [[mozilla, 503, after('120')], { ...failed, slowsOrigin: true, afterMs: 120_000 }],
  [ofFcm(504), failed],
  [ofFcm(507), failed],
  [ofFcm(599), failed],
  [ofFcm(408), notHandled],
  [ofFcm(421), notHandled],
  [ofFcm(425), notHandled],
];
for (const [answered, expected] of retries) {
  test(`${titleOf(answered)}: kept and tried again`, () => {
    const { detail: _, ...rest } = outcomeOf(...answered) as Extract<Outcome, { kind: 'retry' }>;
    assert.deepEqual(rest, { kind: 'retry', ...expected });
  });
}

type Rejected = Extract<Outcome, { kind: 'rejected' }>;
const rejections: Readonly<Partial<Record<Rejected['reason'], readonly Answered[]>>> = {
  'bad-request': [
    ofFcm(400, 'bad TTL'),
    ofMozilla(400, 199, 'x'),
    ofWindows(400, { 'x-wns-error-description': 'Bad body' }),
  ],
  'bad-encryption': [ofMozilla(400, 110, 'Invalid crypto keys')],
  'bad-ttl': [ofMozilla(400, 111, 'Missing TTL'), ofApple(400, 'BadTtl')],
  'bad-topic': [ofMozilla(400, 113, 'Invalid Topic'), ofApple(400, 'BadWebPushTopic')],
  'bad-urgency': [ofApple(400, 'BadUrgency')],
  'cache-policy': [
    ofWindows(400, { 'x-wns-error-description': 'Ttl value conflicts with X-WNS-Cache-Policy.' }),
  ],
  'vapid-key-mismatch': [
    ofFcm(400, html('UnauthorizedRegistration')),
    ofApple(400, 'VapidPkHashMismatch'),
    ofMozilla(401, 109, 'VAPID public key mismatch'),
    ...[400, 401, 403].map((status) => ofFcm(status, fcmMismatch)),
    ofWindows(403),
  ],
  'vapid-refused': [
    ofFcm(401),
    ofMozilla(401, 109, 'Invalid VAPID audience'),
    ofWindows(401),
    ofFcm(403, 'invalid JWT provided'),
    ofApple(403, 'BadJwtToken'),
  ],
  'payload-too-large': [
    ofFcm(413),
    ofFcm(413, fcmMismatch),
    ofMozilla(413, 104, 'Data payload too large'),
    ofApple(413, 'PayloadTooLarge'),
  ],
  dropped: [
    ofWindows(200, { 'x-wns-status': 'dropped' }),
    // in its older words
    ofWindows(200, { 'x-wns-notificationstatus': 'dropped' }),
    ofWindows(202, { 'x-wns-status': 'dropped' }),
  ],
  redirected: [
    [mozilla, 301, { headers: { location: 'http://127.0.0.1/' } }],
    ...[300, 302, 304, 307, 308, 399].map((status) => ofFcm(status)),
  ],
  'unexpected-status': [
    ...[0, 199, 402, 405, 415, 418, 499, 600].map((status) => ofFcm(status)),
    ofFcm(402, fcmMismatch),
  ],
};
for (const [reason, all] of Object.entries(rejections)) {
  for (const answered of all) {
    test(`${titleOf(answered)}: kept and not repeated, ${reason}`, () => {
      const { detail: _, ...rest } = outcomeOf(...answered) as Rejected;
      const scope = reason === 'vapid-refused' ? 'origin' : 'message';
      assert.deepEqual(rest, { kind: 'rejected', reason, scope, isAlarm: reason !== 'dropped' });
    });
  }
}

test('no status but 404 and 410 ever ends a subscription', () => {
  for (const origin of [fcm, mozilla, windows, apple, 'http://127.0.0.1:8090']) {
    for (let status = 0; status < 700; status += 1) {
      const isGone = outcomeOf(origin, status).kind === 'gone';
      assert.equal(isGone, status === 404 || status === 410, `${status} of ${origin}`);
    }
  }
});

const detailOf = (...answered: Answered): string | undefined => {
  const outcome = outcomeOf(...answered);
  return 'detail' in outcome ? outcome.detail : undefined;
};

test('the push service is quoted: JSON by its words, HTML by its title, text as it is', () => {
  for (const [answered, quoted] of [
    [ofMozilla(401, 109, 'Invalid VAPID expiry'), 'errno 109: Invalid VAPID expiry'],
    [ofApple(403, 'BadJwtToken'), 'BadJwtToken'],
    [ofFcm(410, html('NotRegistered')), 'NotRegistered'],
    [ofFcm(400, 'bad\r\n TTL\u0000\n'), 'bad TTL'],
    [ofFcm(400, '{"broken'), '{"broken'],
    [ofFcm(400, '{"message":{"not":"text"}}'), undefined],
    [ofFcm(500), undefined],
  ] as const) {
    assert.equal(detailOf(...answered), quoted);
  }
});

test('what is quoted is short and shows no endpoint', () => {
  assert.equal(detailOf(...ofFcm(400, 'no '.repeat(2000)))?.length, 200);
  for (const before of ['no '.repeat(66), `${'no '.repeat(66)}n`]) {
    const quoted = detailOf(...ofFcm(400, before + '😀'.repeat(10))) ?? '';
    assert.ok(quoted.isWellFormed() && quoted.length <= 200 && quoted.endsWith('…'), quoted);
  }
  assert.equal(detailOf(...ofApple(400, 'no \ud83d way')), 'no way');
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
    assert.equal(detailOf(...ofFcm(404, String(body))), quoted);
  }
});

// The oldest form of an HTTP date names no zone: GMT is meant, wherever this machine is.
process.env['TZ'] = 'America/New_York';

const fourWeeksMs = 28 * 24 * 60 * 60 * 1000;
const retryAfters: readonly [string | undefined, number | undefined][] = [
  [undefined, undefined],
  ['0', 0],
  ['1', 1000],
  [' 120 ', 120_000],
  ['99999999999999999999', fourWeeksMs],
  ['9'.repeat(400), fourWeeksMs],
  ['Sat, 21 Nov 2026 01:00:30 GMT', 30_000],
  ['Saturday, 21-Nov-26 01:00:30 GMT', 30_000],
  ['Sat Nov 21 01:00:30 2026', 30_000],
  ['Sat, 21 Nov 2026 00:00:00 GMT', 0],
  ['Fri, 31 Dec 2100 00:00:00 GMT', fourWeeksMs],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['0x10', undefined],
  ['1e3', undefined],
  ['2026-11-21', undefined],
  ['Sat, 99 Nov 2026 99:00:30 GMT', undefined],
  ['Sat', undefined],
  ['21 Nov 2026, Sat, 01:00:30 GMT', undefined],
  ['2026-11-21 Sat', undefined],
];
for (const [value, afterMs] of retryAfters) {
  test(`Retry-After ${JSON.stringify(value?.slice(0, 40))} means ${afterMs === undefined ? 'nothing' : `${afterMs} ms`}`, () => {
    assert.equal(readRetryAfterMs(value, nowMs), afterMs);
  });
}
