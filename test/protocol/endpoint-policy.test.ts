import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { normalizeEndpoint, splitEndpoint } from '../../src/protocol/endpoint.ts';
import { admitted, refused } from './endpoints.ts';

const policy = createEndpointPolicy();

for (const endpoint of admitted) {
  test(`${endpoint.slice(0, 60)} is admitted`, () => assert.equal(policy.check(endpoint), undefined));
}

for (const [what, endpoint, code] of refused) {
  test(`an endpoint is refused: ${what}`, () => assert.equal(policy.check(endpoint)?.code, code));
}

const otherApis: readonly string[] = [
  'https://fcm.googleapis.com/v1/projects/x/messages:send',
  'https://fcm.googleapis.com:443/v1/projects/x/messages:send?key=y',
  'https://fcm.googleapis.com/v1beta1/projects/x/messages:send',
  'https://fcm.googleapis.com/fcm/send',
  'https://fcm.googleapis.com/fcm/send/',
  'https://fcm.googleapis.com/fcm/send?key=x',
  'https://fcm.googleapis.com/fcm/notification',
  'https://fcm.googleapis.com/fcm/connect/subscribe',
  'https://fcm.googleapis.com/batch',
  'https://fcm.googleapis.com/$discovery/rest?version=v1',
  'https://jmt17.google.com/fcm/send',
  'https://android.googleapis.com/gcm/send',
  'https://android.googleapis.com/gcm/notification',
  'https://android.googleapis.com/gcm/googlenotification',
  'https://updates.push.services.mozilla.com/m/gAAAAABnpdbulnTLVcG1dB8MMTW1w9txxdv6vnAid',
  'https://updates.push.services.mozilla.com/v1/fcm/app/registration',
  'https://updates.push.services.mozilla.com/__heartbeat__',
  'https://updates.push.services.mozilla.com/status',
  'https://updates.push.services.mozilla.com/health',
  'https://autopush.stage.push.services.mozilla.com/v1/apns/app/registration/x',
  'https://api.push.apple.com/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0',
  'https://api.sandbox.push.apple.com/3/device/0',
  'https://api.push.apple.com/4/broadcasts/apps/com.example',
  'https://api-manage-broadcast.push.apple.com/1/apps/com.example/channels',
];
for (const endpoint of otherApis) {
  test(`another API than that of subscriptions is refused: ${endpoint.slice(0, 70)}`, () => {
    const fault = policy.check(endpoint);
    assert.equal(fault?.code, 'ERR_ENDPOINT_INVALID');
    assert.match(fault.detail, /another API of/);
    const { pathname, search } = new URL(endpoint);
    assert.ok(!fault.detail.includes(pathname + search), 'the path is not told');
    const pattern = new RegExp(`^${policy.originPattern}/`, 'u');
    assert.doesNotMatch(endpoint.replace(':443', ''), pattern, 'the description document says the same');
  });
}

test('a push service of the operator has no paths that are other APIs', () => {
  const own = createEndpointPolicy(['https://fcm.googleapis.com', 'https://*.push.example.org']);
  assert.equal(own.check('https://fcm.googleapis.com/v1/projects/x/messages:send'), undefined);
  assert.equal(own.check('https://a.push.example.org/v1/projects/x'), undefined);
  const pattern = new RegExp(`^${own.originPattern}/`, 'u');
  assert.match('https://a.push.example.org/3/device/0', pattern);
});

test('paths that endpoints do not have at present are told apart, though they are admitted', () => {
  const known = admitted.filter((endpoint) => policy.hasKnownPath(endpoint));
  const others = admitted.filter((endpoint) => !policy.hasKnownPath(endpoint));
  assert.deepEqual(others, [
    'https://fcm.googleapis.com/a-path-of-next-year/x',
    'https://fcm.googleapis.com',
  ]);
  assert.equal(known.length + others.length, admitted.length);
  const own = createEndpointPolicy(['http://127.0.0.1:8090', 'https://*.push.example.org']);
  assert.equal(own.hasKnownPath('http://127.0.0.1:8090/anything'), true);
  assert.equal(own.hasKnownPath('https://a.push.example.org/anything'), true);
});

test('4096 characters are admitted; 4097 are not, and are not read', (t) => {
  const start = 'https://fcm.googleapis.com/';
  assert.equal(policy.check(start.padEnd(4096, 'x')), undefined);
  // its path begins with a slash, where it is stored and sent
  assert.equal(policy.check('https://fcm.googleapis.com?'.padEnd(4095, 'x')), undefined);
  assert.equal(policy.check('https://fcm.googleapis.com?'.padEnd(4096, 'x'))?.code, 'ERR_ENDPOINT_TOO_LONG');
  const parse = t.mock.method(URL, 'parse');
  assert.equal(policy.check(start.padEnd(4097, 'x'))?.code, 'ERR_ENDPOINT_TOO_LONG');
  assert.equal(parse.mock.callCount(), 0);
});

test('what is said of a refused endpoint names its host, never its path', () => {
  const fault = policy.check('https://evil.example/secret-token');
  assert.match(fault?.detail ?? '', /evil\.example/);
  assert.doesNotMatch(fault?.detail ?? '', /secret-token/);
});

test('any public host is admitted at 443 and at ports of users, never at those of other protocols', () => {
  const open = createEndpointPolicy('public');
  const pattern = new RegExp(`^${open.originPattern}`);
  for (const [port, isAdmitted] of [
    ['443', true],
    ['1024', true],
    ['1999', true],
    ['8443', true],
    ['65535', true],
    ['0', false],
    ['1', false],
    ['25', false],
    ['80', false],
    ['1023', false],
  ] as const) {
    const endpoint = `https://ntfy.example.net:${port}/up?up=1`;
    const fault = open.check(endpoint);
    assert.equal(fault === undefined, isAdmitted, port);
    assert.equal(pattern.test(normalizeEndpoint(endpoint)), isAdmitted, port);
    if (!isAdmitted) {
      assert.equal(fault?.code, 'ERR_ENDPOINT_HOST_REFUSED');
      assert.match(
        fault.detail,
        new RegExp(`^The port of ntfy.example.net:${port} is neither 443 nor 1024 or above`),
      );
    }
  }
  for (const listed of ['https://push.example.org:0', 'https://*.push.example.org:0'])
    assert.throws(() => createEndpointPolicy([listed]), { code: 'ERR_CONFIGURATION' });
});

test('an origin that the operator named is admitted over http, on loopback and on its port alone', () => {
  const own = createEndpointPolicy([
    'http://127.0.0.1:8090',
    'https://push.example.org',
    'http://[::1]:8090/',
  ]);
  for (const endpoint of [
    'http://127.0.0.1:8090/wpush/x',
    'https://push.example.org/x?y=%2B',
    'http://[::1]:8090/x',
    'https://fcm.googleapis.com/still',
  ]) {
    assert.equal(own.check(endpoint), undefined, endpoint);
  }
  for (const endpoint of [
    'http://127.0.0.1:8091/wpush/x',
    'https://127.0.0.1:8090/wpush/x',
    'http://127.1:8090/wpush/x',
    'http://push.example.org/x',
    'https://a.push.example.org/x',
    'https://push.example.org:8443/x',
  ]) {
    assert.notEqual(own.check(endpoint), undefined, endpoint);
  }
  assert.equal(own.isNamedOrigin('http://127.0.0.1:8090'), true);
  assert.equal(own.isNamedOrigin('https://fcm.googleapis.com'), false);
});

test('a domain that the operator added admits the hosts under it over https, and nothing named exactly', () => {
  const own = createEndpointPolicy(['https://*.push.example.org']);
  assert.equal(own.check('https://eu.push.example.org/x'), undefined);
  assert.equal(own.check('https://a.eu.push.example.org/x'), undefined);
  for (const endpoint of [
    'https://push.example.org/x',
    'http://eu.push.example.org/x',
    'https://eu.push.example.org:8443/x',
    'https://evilpush.example.org/x',
  ]) {
    assert.notEqual(own.check(endpoint), undefined, endpoint);
  }
  assert.equal(own.isNamedOrigin('https://eu.push.example.org'), false);
});

for (const entry of [
  '',
  'push.example.org',
  '//push.example.org',
  'ftp://push.example.org',
  'https://push.example.org/path',
  'https://push.example.org/?query',
  'https://push.example.org/#fragment',
  'https://user@push.example.org',
  'https://push.*.example.org',
  'https://*',
  'https://*.org',
  'https://*.',
  'http://*.push.example.org',
  'https://*.push.example.org:8443',
  'https://*.*.example.org',
  'https://*.0.0.1',
]) {
  test(`"${entry}" is no push service to be added`, () => {
    assert.throws(() => createEndpointPolicy([entry]), {
      code: 'ERR_CONFIGURATION',
      message: /pushServices/,
    });
  });
}

const splits: readonly [string, string, string][] = [
  [
    'https://db5p.notify.windows.com/w/?token=a%2Bb+c',
    'https://db5p.notify.windows.com',
    '/w/?token=a%2Bb+c',
  ],
  ['https://FCM.googleapis.com:443/x', 'https://fcm.googleapis.com', '/x'],
  ['http://127.0.0.1:8090', 'http://127.0.0.1:8090', '/'],
  ['https://push.example.org?x', 'https://push.example.org', '/?x'],
];
for (const [endpoint, origin, path] of splits) {
  test(`${endpoint} is split without changing its path`, () => {
    assert.deepEqual(splitEndpoint(endpoint), { origin, path });
  });
}

const normalized: readonly (readonly [endpoint: string, normal: string])[] = [
  ['https://fcm.googleapis.com/a', 'https://fcm.googleapis.com/a'],
  ['HTTPS://FCM.googleapis.com:443/A%2b?B=+', 'https://fcm.googleapis.com/A%2b?B=+'],
  ['https://push.example:8443/a', 'https://push.example:8443/a'],
  ['https://push.example:80/a', 'https://push.example:80/a'],
  ['HTTP://127.0.0.1:80/a', 'http://127.0.0.1/a'],
  ['https://push.example', 'https://push.example/'],
  ['https://push.example?a', 'https://push.example/?a'],
  ['https://push.example//a/../b', 'https://push.example//a/../b'],
  // no endpoints
  ['', ''],
  ['FCM.googleapis.com/a', 'FCM.googleapis.com/a'],
  ['https://User@push.example/a', 'https://User@push.example/a'],
  ['https://2130706433/a', 'https://2130706433/a'],
  ['ftp://PUSH.example/a', 'ftp://PUSH.example/a'],
];
for (const [endpoint, normal] of normalized) {
  test(`"${endpoint}" is normalised to "${normal}", and that to itself`, () => {
    assert.equal(normalizeEndpoint(endpoint), normal);
    assert.equal(normalizeEndpoint(normal), normal);
  });
}

// Which endpoints are admitted where any public host may be a push service.

const publicPolicy = createEndpointPolicy('public');
const pattern = new RegExp(`^${publicPolicy.originPattern}(?:[/?]|$)`, 'u');

for (const endpoint of [
  'https://ntfy.sh/upAbCdEf012345?up=1',
  'https://push.example.net:8443/wpush/v2/x',
  'https://cloud.example.net/index.php/apps/uppush/push/0d1c',
  'https://a.b.c.example.museum/x',
  'https://push.apple.com/x',
  `https://${'a'.repeat(63)}.example.net/up`,
]) {
  test(`${endpoint} is admitted, and is not listed`, () => {
    assert.equal(publicPolicy.check(endpoint), undefined);
    assert.equal(publicPolicy.isUnlisted(new URL(endpoint).origin), true);
    assert.equal(publicPolicy.hasKnownPath(endpoint), true);
    assert.match(endpoint, pattern);
    assert.equal(createEndpointPolicy().check(endpoint)?.code, 'ERR_ENDPOINT_HOST_REFUSED');
    assert.equal(createEndpointPolicy().isUnlisted(new URL(endpoint).origin), false);
  });
}

const tooLong = `${'a.'.repeat(126)}net`;
for (const endpoint of [
  'http://ntfy.sh/up',
  'https://localhost/up',
  'https://push/up',
  'https://127.0.0.1/up',
  'https://192.0.2.1/up',
  'https://93.184.216.34/up',
  'https://[2606:2800:220:1:248:1893:25c8:1946]/up',
  'https://permanently-removed.invalid/fcm/send/x',
  'https://push.localhost/up',
  'https://nas.local/up',
  'https://router.home.arpa/up',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://facebookcorewwwi.onion/up',
  ...['alt', 'example', 'home', 'lan', 'test'].map((domain) => `https://push.${domain}/up`),
  `https://${'a'.repeat(64)}.example.net/up`,
  'https://-a.example.net/up',
  'https://a_b.example.net/up',
  'https://ntfy.sh./up',
  'https://user@ntfy.sh/up',
  `https://${tooLong}/up`,
  'https://fcm.googleapis.com:8443/fcm/send/x',
  'https://a.push.apple.com:8443/x',
  'https://fcm.googleapis.com/v1/projects/x/messages:send',
  'https://api.push.apple.com/3/device/00',
]) {
  test(`${endpoint.slice(0, 60)} is refused`, () => {
    assert.match(publicPolicy.check(endpoint)?.code ?? '', /^ERR_ENDPOINT_(?:HOST_REFUSED|INVALID)$/);
    assert.doesNotMatch(endpoint, pattern);
  });
}

test('what is admitted without it stays admitted, and is no host that nobody has listed', () => {
  for (const endpoint of admitted) {
    assert.equal(publicPolicy.check(endpoint), undefined, endpoint);
    assert.equal(publicPolicy.isUnlisted(new URL(endpoint).origin), false, endpoint);
  }
});

test('of what is refused without it, only names of public hosts are admitted', () => {
  const now = refused.filter(([, endpoint]) => publicPolicy.check(endpoint) === undefined);
  for (const [what, endpoint, code] of now) {
    assert.equal(code, 'ERR_ENDPOINT_HOST_REFUSED', what);
    assert.match(new URL(endpoint).hostname, /^(?:[a-z\d-]+\.)+[a-z][a-z\d-]+$/, what);
  }
});

test('it stands beside what is listed, which it does not limit', () => {
  const both = createEndpointPolicy([
    'public',
    'https://ntfy.sh',
    'http://127.0.0.1:8090',
    'https://*.up.example.org',
  ]);
  for (const origin of ['https://ntfy.sh', 'http://127.0.0.1:8090', 'https://a.up.example.org']) {
    assert.equal(both.check(`${origin}/x`), undefined);
    assert.equal(both.isUnlisted(origin), false, origin);
  }
  assert.equal(both.isUnlisted('https://other.example.org'), true);
  assert.equal(both.isNamedOrigin('https://other.example.org'), false, 'the address guard holds for it');
});
