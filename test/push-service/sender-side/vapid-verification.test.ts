// Who may send (RFC 8292): each way for credentials to be wrong, as the answers that a sender gets.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  aes128gcmBody,
  createVapidSender,
  encrypted,
  refusalOf,
  sendByHttp1,
  sendByHttp2,
  start,
  startSubscribed,
  subscribeRaw,
  type VapidSender,
} from '../harness.ts';

const day = 24 * 60 * 60;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

function pushWith(authorization: string | undefined, further: Record<string, string> = {}) {
  const headers = { ttl: '60', ...encrypted, ...further, ...(authorization && { authorization }) };
  return { headers, body: aes128gcmBody() };
}

test('the owner of the key that the subscription was made for may send', async (t) => {
  const service = await start(t);
  const sender = createVapidSender(service.origin);
  const { endpoint } = await subscribeRaw(t, service, sender.publicKey);
  const good: [string, string, Record<string, string>?][] = [
    ['vapid t=…, k=…', sender.authorize()],
    ['k before t', `vapid k=${sender.publicKey}, t=${sender.token()}`],
    ['the scheme in capitals, no space after the comma', `VAPID t=${sender.token()},k=${sender.publicKey}`],
    ['quoted values', `vapid t="${sender.token()}", k="${sender.publicKey}"`],
    ['a padded key', `vapid t=${sender.token()}, k=${sender.publicKey}=`],
    ['a list of audiences', sender.authorize({ claims: { aud: ['https://a.test', service.origin] } })],
    ['no sub', sender.authorize({ claims: { sub: undefined } })],
    ['an https sub', sender.authorize({ claims: { sub: 'https://example.org/contact' } })],
    ['exp in 23 h 59 min', sender.authorize({ claims: { exp: nowSeconds() + day - 60 } })],
    ['the older form', `WebPush ${sender.token()}`, { 'crypto-key': `dh=abc;p256ecdsa=${sender.publicKey}` }],
    [
      'the older form, keys apart',
      `webpush ${sender.token()}`,
      { 'crypto-key': `dh=abc, p256ecdsa="${sender.publicKey}"` },
    ],
  ];
  for (const [title, authorization, further] of good) {
    await t.test(title, async () => {
      for (const send of [sendByHttp1, sendByHttp2]) {
        const { status, body } = await send(endpoint, pushWith(authorization, further));
        assert.equal(status, 201, body);
      }
    });
  }
});

test('nobody else may', async (t) => {
  const service = await start(t);
  const sender = createVapidSender(service.origin);
  const stranger = createVapidSender(service.origin);
  const { endpoint, agent } = await subscribeRaw(t, service, sender.publicKey);
  const { port } = new URL(service.origin);
  const claims = (replaced: Record<string, unknown>): string => sender.authorize({ claims: replaced });
  const [head = '', payload = '', signature = ''] = sender.token().split('.');
  const withToken = (token: string): string => `vapid t=${token}, k=${sender.publicKey}`;
  const changed = Buffer.from(signature, 'base64url');
  changed[10] = changed[10]! ^ 1;

  const bad: [string, string, Record<string, string>?][] = [
    ['the key of another sender', stranger.authorize()],
    ["another sender's token with our key", `vapid t=${stranger.token()}, k=${sender.publicKey}`],
    ['no t', `vapid k=${sender.publicKey}`],
    ['no k', `vapid t=${sender.token()}`],
    ['no parameters', 'vapid'],
    ['another scheme', `Bearer ${sender.token()}`],
    ['the older form without key', `WebPush ${sender.token()}`],
    ['a key that is no point', `vapid t=${sender.token()}, k=${'A'.repeat(87)}`],
    ['a key off the curve', `vapid t=${sender.token()}, k=${offTheCurve(sender)}`],
    ['a key that is not base64url', `vapid t=${sender.token()}, k=${sender.publicKey.slice(0, -1)}!`],
    ['two parts', withToken(`${head}.${payload}`)],
    ['a changed signature', withToken(`${head}.${payload}.${changed.toString('base64url')}`)],
    ['a short signature', withToken(`${head}.${payload}.${signature.slice(0, 40)}`)],
    ['changed claims', withToken(`${head}.${Buffer.from('{}').toString('base64url')}.${signature}`)],
    ['alg none', sender.authorize({ header: { alg: 'none' } })],
    ['alg HS256', sender.authorize({ header: { alg: 'HS256' } })],
    ['a header that is not JSON', withToken(`AAAA.${payload}.${signature}`)],
    ['no aud', claims({ aud: undefined })],
    ['an aud without port', claims({ aud: 'http://127.0.0.1' })],
    ['an aud with another port', claims({ aud: `http://127.0.0.1:${Number(port) + 1}` })],
    ['an aud with a path', claims({ aud: `${service.origin}/` })],
    ['an aud with another scheme', claims({ aud: service.origin.replace('http:', 'https:') })],
    ['no exp', claims({ exp: undefined })],
    ['exp as text', claims({ exp: String(nowSeconds() + 60) })],
    ['exp passed', claims({ exp: nowSeconds() - 1 })],
    ['exp over 24 h away', claims({ exp: nowSeconds() + day + 60 })],
    ['exp in milliseconds', claims({ exp: Date.now() + 60_000 })],
    ['sub without scheme', claims({ sub: 'test@example.org' })],
    ['sub in angle brackets', claims({ sub: 'mailto:<test@example.org>' })],
  ];
  for (const [title, authorization, further] of bad) {
    await t.test(`${title}: 403`, async () => {
      for (const send of [sendByHttp1, sendByHttp2]) {
        const refusal = refusalOf(await send(endpoint, pushWith(authorization, further)));
        assert.deepEqual(refusal, { status: 403, code: 403, errno: 109 });
      }
    });
  }
  await t.test('no credentials at all: 401 with the challenge', async () => {
    const answer = await sendByHttp1(endpoint, pushWith(undefined));
    assert.deepEqual(refusalOf(answer), { status: 401, code: 401, errno: 109 });
    assert.equal(answer.headers['www-authenticate'], 'vapid');
  });
  assert.deepEqual(agent.pending, []);
});

test('a subscription without key takes messages from anybody, but no wrong credentials', async (t) => {
  const { service, endpoint } = await startSubscribed(t);
  const sender = createVapidSender(service.origin);
  assert.equal((await sendByHttp1(endpoint, pushWith(undefined))).status, 201);
  assert.equal((await sendByHttp1(endpoint, pushWith(sender.authorize()))).status, 201);
  const expired = sender.authorize({ claims: { exp: nowSeconds() - 10 } });
  assert.equal((await sendByHttp1(endpoint, pushWith(expired))).status, 403);
});

test('a token that was good is refused once it has expired', async (t) => {
  let now = Date.now();
  const service = await start(t, { now: () => now });
  const sender = createVapidSender(service.origin, () => now);
  const { endpoint } = await subscribeRaw(t, service, sender.publicKey);
  const authorization = sender.authorize({ claims: { exp: Math.floor(now / 1000) + 100 } });
  assert.equal((await sendByHttp1(endpoint, pushWith(authorization))).status, 201);
  now += 50_000;
  assert.equal((await sendByHttp1(endpoint, pushWith(authorization))).status, 201);
  now += 60_000;
  assert.equal((await sendByHttp1(endpoint, pushWith(authorization))).status, 403);
});

test('a refusal says what is wrong, and never shows token or key', async (t) => {
  const service = await start(t);
  const sender = createVapidSender(service.origin);
  const { endpoint } = await subscribeRaw(t, service, sender.publicKey);
  const authorization = sender.authorize({ claims: { aud: 'http://127.0.0.1' } });
  const { body } = await sendByHttp1(endpoint, pushWith(authorization));
  const { message, error } = JSON.parse(body) as { message: string; error: string };
  assert.equal(error, 'Forbidden');
  assert.ok(message.includes(`"aud" must be the origin of the push resource, ${service.origin}`), message);
  assert.ok(!body.includes(sender.publicKey) && !body.includes(authorization.slice(20, 60)));
  // in this case alone, who leaves out the port, and the remedy, as docs say
  const docs = readFileSync('docs/push-service.md', 'utf8');
  for (const name of ['nl.martijndwars:web-push', 'crate web-push', 'package webpush'])
    assert.ok(message.includes(name) && docs.replaceAll('`', '').replaceAll('\n', ' ').includes(name), name);
  assert.match(message, /give this push service the port 80, or 443 with TLS/);
  const elsewhere = sender.authorize({ claims: { aud: 'http://127.0.0.2' } });
  assert.doesNotMatch((await sendByHttp1(endpoint, pushWith(elsewhere))).body, /port/);
});

test('aud follows the origin option', async (t) => {
  const service = await start(t, { origin: 'https://push.example.test' });
  const sender = createVapidSender('https://push.example.test');
  const { endpoint } = await subscribeRawAt(t, service, sender.publicKey);
  assert.match(endpoint, /^https:\/\/push\.example\.test\/wpush\//);
  const reachable = endpoint.replace('https://push.example.test', `http://127.0.0.1:${service.port}`);
  assert.equal((await sendByHttp1(reachable, pushWith(sender.authorize()))).status, 201);
});

/** A service behind another origin is reached on its port all the same. */
function subscribeRawAt(...[t, service, key]: Parameters<typeof subscribeRaw>) {
  return subscribeRaw(t, { ...service, webSocketUrl: `ws://127.0.0.1:${service.port}/` }, key);
}

function offTheCurve(sender: VapidSender): string {
  const point = Buffer.from(sender.publicKey, 'base64url');
  point[64] = point[64]! ^ 1;
  return point.toString('base64url');
}
