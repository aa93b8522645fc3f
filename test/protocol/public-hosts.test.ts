// Which endpoints are admitted where any public host may be a push service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { admitted, refused } from './endpoints.ts';

const policy = createEndpointPolicy('public');
const pattern = new RegExp(`^${policy.originPattern}(?:[/?]|$)`, 'u');

for (const endpoint of [
  'https://ntfy.sh/upAbCdEf012345?up=1',
  'https://push.example.net:8443/wpush/v2/x',
  'https://cloud.example.net/index.php/apps/uppush/push/0d1c',
  'https://a.b.c.example.museum/x',
  'https://push.apple.com/x',
  `https://${'a'.repeat(63)}.example.net/up`,
]) {
  test(`${endpoint} is admitted, and is not listed`, () => {
    assert.equal(policy.check(endpoint), undefined);
    assert.equal(policy.isUnlisted(new URL(endpoint).origin), true);
    assert.equal(policy.hasKnownPath(endpoint), true);
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
    assert.match(policy.check(endpoint)?.code ?? '', /^ERR_ENDPOINT_(?:HOST_REFUSED|INVALID)$/);
    assert.doesNotMatch(endpoint, pattern);
  });
}

test('what is admitted without it stays admitted, and is no host that nobody has listed', () => {
  for (const endpoint of admitted) {
    assert.equal(policy.check(endpoint), undefined, endpoint);
    assert.equal(policy.isUnlisted(new URL(endpoint).origin), false, endpoint);
  }
});

test('of what is refused without it, only names of public hosts are admitted', () => {
  const now = refused.filter(([, endpoint]) => policy.check(endpoint) === undefined);
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
