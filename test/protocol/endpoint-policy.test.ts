import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  createEndpointPolicy,
  normalizeEndpoint,
  splitEndpoint,
} from '../../src/protocol/endpoint-policy.ts';

const policy = createEndpointPolicy();

const admitted: readonly string[] = [
  'https://fcm.googleapis.com/fcm/send/dSbTwHYXBxQ:APA91bFjU7L9Vs09sDCJc_H5-QhuZqAS',
  'https://fcm.googleapis.com/wp/dSbTwHYXBxQ:APA91bFjU7L9Vs09sDCJc',
  'https://android.googleapis.com/gcm/send/dSbTwHYXBxQ',
  'https://jmt17.google.com/fcm/send/dSbTwHYXBxQ:APA91bFjU7L9',
  'https://updates.push.services.mozilla.com/wpush/v2/gAAAAABnpdbulnTLVcG1dB8MMTW1w9txxdv6vnAid',
  'https://updates.push.services.mozilla.com:443/wpush/v1/gAAAAABnpdbulnTL',
  'https://updates-autopush.stage.push.services.mozilla.com/wpush/v2/gAAAA',
  'https://db5p.notify.windows.com/w/?token=BQYAAAD%2bPl%2f0vK%2B%3d%3d',
  'https://wns2-pn1p.notify.windows.com/w/?token=BQY+AAAD==',
  'https://web.push.apple.com/QGg9y1y_0mEvQ',
  'https://fcm.googleapis.com/a-path-of-next-year/x',
  'https://updates.push.services.mozilla.com/wpush/v3/x',
  'HTTPS://FCM.GoogleAPIs.com/fcm/send/upper-case-host',
  'https://fcm.googleapis.com',
];
for (const endpoint of admitted) {
  test(`${endpoint.slice(0, 60)} is admitted`, () => assert.equal(policy.check(endpoint), undefined));
}

const invalid = 'ERR_ENDPOINT_INVALID';
const refusedHost = 'ERR_ENDPOINT_HOST_REFUSED';

const refused: readonly [string, string, string][] = [
  // not a URL to be used verbatim
  ['empty', '', invalid],
  ['relative', '/fcm/send/x', invalid],
  ['without a scheme', 'fcm.googleapis.com/fcm/send/x', invalid],
  ['without slashes', 'https:fcm.googleapis.com/fcm/send/x', invalid],
  ['with one slash', 'https:/fcm.googleapis.com/fcm/send/x', invalid],
  ['with three slashes', 'https:///fcm.googleapis.com/fcm/send/x', invalid],
  ['with backslashes', 'https:\\\\fcm.googleapis.com\\x', invalid],
  ['with a backslash behind the host', 'https://fcm.googleapis.com\\@evil.example/x', invalid],
  ['with a leading space', ' https://fcm.googleapis.com/x', invalid],
  ['with a trailing space', 'https://fcm.googleapis.com/x ', invalid],
  ['with a space inside', 'https://fcm.googleapis.com/a b', invalid],
  ['with a line break', 'https://fcm.googleapis.com/a\nb', invalid],
  ['with a header smuggled in', 'https://fcm.googleapis.com/a\r\nX-Evil: 1', invalid],
  ['with a tab in the host', 'https://fcm.goo\tgleapis.com/x', invalid],
  ['with a zero byte', 'https://fcm.googleapis.com/a\0b', invalid],
  ['with letters beyond ASCII in its path', 'https://fcm.googleapis.com/ä', invalid],
  ['with dot segments', 'https://fcm.googleapis.com/a/../b', invalid],
  ['with quotes', 'https://fcm.googleapis.com/"x"', invalid],
  ['with a fragment', 'https://fcm.googleapis.com/x#y', invalid],
  ['with an empty fragment', 'https://fcm.googleapis.com/x#', invalid],
  ['with a fragment for a path', 'https://127.0.0.1#.fcm.googleapis.com/', invalid],
  ['with a user', 'https://user@fcm.googleapis.com/x', invalid],
  ['with user and password', 'https://user:password@fcm.googleapis.com/x', invalid],
  ['with empty user information', 'https://@fcm.googleapis.com/x', invalid],
  ['with the known host as user', 'https://fcm.googleapis.com@127.0.0.1/x', invalid],
  ['with the known host as user and password', 'https://fcm.googleapis.com:443@evil.example/x', invalid],
  ['http', 'http://fcm.googleapis.com/fcm/send/x', invalid],
  ['http to loopback', 'http://127.0.0.1:8090/wpush/x', invalid],
  ['ws', 'wss://fcm.googleapis.com/x', invalid],
  ['ftp', 'ftp://fcm.googleapis.com/x', invalid],
  ['file', 'file:///etc/passwd', invalid],
  ['data', 'data:text/plain,https://fcm.googleapis.com/', invalid],
  ['javascript', 'javascript:alert(1)//fcm.googleapis.com/', invalid],
  ['blob', 'blob:https://fcm.googleapis.com/x', invalid],
  ['a port that is none', 'https://fcm.googleapis.com:99999/x', invalid],
  ['a host percent-encoded', 'https://fcm%2egoogleapis.com/x', invalid],
  ['a host in full-width letters', 'https://ｆｃｍ.googleapis.com/x', invalid],
  ['a host with ideographic full stops', 'https://fcm。googleapis。com/x', invalid],
  ['a host with a soft hyphen', 'https://fcm.google\u00ADapis.com/x', invalid],
  ['an IDN look-alike in Unicode', 'https://fcm.gооgleapis.com/x', invalid],
  // IP literals in every notation
  ['IPv4', 'https://127.0.0.1/x', refusedHost],
  ['IPv4, public', 'https://142.250.74.74/x', refusedHost],
  ['IPv4, link-local', 'https://169.254.169.254/latest/meta-data/', refusedHost],
  ['IPv4 as one number', 'https://2130706433/x', invalid],
  ['IPv4 in hexadecimal', 'https://0x7f000001/x', invalid],
  ['IPv4 in hexadecimal parts', 'https://0x7f.0.0.1/x', invalid],
  ['IPv4 in octal', 'https://0177.0.0.1/x', invalid],
  ['IPv4 cut short', 'https://127.1/x', invalid],
  ['IPv4 with a trailing dot', 'https://127.0.0.1./x', invalid],
  ['IPv4 with leading zeros', 'https://127.000.000.001/x', invalid],
  ['IPv4 percent-encoded', 'https://%31%32%37.0.0.1/x', invalid],
  ['IPv4 in circled digits', 'https://①②⑦.0.0.1/x', invalid],
  ['IPv4 zero', 'https://0/x', invalid],
  ['IPv4 unspecified', 'https://0.0.0.0/x', refusedHost],
  ['IPv6 loopback', 'https://[::1]/x', refusedHost],
  ['IPv6 loopback in full', 'https://[0:0:0:0:0:0:0:1]/x', invalid],
  ['IPv6 mapped', 'https://[::ffff:127.0.0.1]/x', invalid],
  ['IPv6 mapped in hexadecimal', 'https://[::ffff:7f00:1]/x', refusedHost],
  ['IPv6 NAT64', 'https://[64:ff9b::7f00:1]/x', refusedHost],
  ['IPv6 6to4', 'https://[2002:7f00:1::]/x', refusedHost],
  ['IPv6 link-local', 'https://[fe80::1]/x', refusedHost],
  ['IPv6 with a zone', 'https://[fe80::1%25eth0]/x', invalid],
  // hosts that only look like known ones
  ['localhost', 'https://localhost/x', refusedHost],
  ['localhost with a port', 'https://localhost:8443/x', refusedHost],
  ['the known host in the path', 'https://127.0.0.1:9200/fcm.googleapis.com/', refusedHost],
  ['the known host in the query', 'https://evil.example/?fcm.googleapis.com', refusedHost],
  ['the known host as a label', 'https://fcm.googleapis.com.evil.example/x', refusedHost],
  ['the known host as an ending without a dot', 'https://evilfcm.googleapis.com/x', refusedHost],
  ['a known domain as an ending without a dot', 'https://evilnotify.windows.com/x', refusedHost],
  ['a known domain itself', 'https://notify.windows.com/x', refusedHost],
  ['another Google service', 'https://storage.googleapis.com/x', refusedHost],
  ['a name below a known host', 'https://a.fcm.googleapis.com/x', refusedHost],
  ['a trailing dot', 'https://fcm.googleapis.com./x', refusedHost],
  ['an empty label', 'https://.push.apple.com/x', refusedHost],
  ['two dots', 'https://web..push.apple.com/x', refusedHost],
  ['an IDN look-alike in Punycode', 'https://fcm.xn--ggleapis-0ij.com/x', refusedHost],
  ['another port of a known host', 'https://fcm.googleapis.com:8443/x', refusedHost],
  ['port 80 of a known host', 'https://fcm.googleapis.com:80/x', refusedHost],
  ['permanently-removed.invalid', 'https://permanently-removed.invalid/fcm/send/x', refusedHost],
  ['a name of one label', 'https://intranet/x', refusedHost],
  ['another host', 'https://push.example.org/x', refusedHost],
];
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
  'https://autopush.stage.push.services.mozilla.com/v1/apns/app/registration/x',
  'https://api.push.apple.com/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0',
  'https://api.sandbox.push.apple.com/3/device/0',
  'https://api.push.apple.com/4/broadcasts/apps/com.example',
  'https://api-manage-broadcast.push.apple.com/1/apps/com.example/channels',
];
for (const endpoint of otherApis) {
  test(`another API than that of subscriptions is refused: ${endpoint.slice(0, 70)}`, () => {
    const fault = policy.check(endpoint);
    assert.equal(fault?.code, invalid);
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

test('4096 characters are admitted, 4097 are not', () => {
  const start = 'https://fcm.googleapis.com/';
  assert.equal(policy.check(start.padEnd(4096, 'x')), undefined);
  assert.equal(policy.check(start.padEnd(4097, 'x'))?.code, 'ERR_ENDPOINT_TOO_LONG');
});

test('what is said of a refused endpoint names its host, never its path', () => {
  const fault = policy.check('https://evil.example/secret-token');
  assert.match(fault?.detail ?? '', /evil\.example/);
  assert.doesNotMatch(fault?.detail ?? '', /secret-token/);
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
