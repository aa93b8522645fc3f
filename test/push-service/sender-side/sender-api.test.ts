// Every rule for senders (RFC 8030) and every refusal, over both versions of HTTP.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aes128gcmBody, encrypted, refusalOf, type Sending, startSubscribed, versions } from '../harness.ts';

const good: Sending = { headers: { ttl: '60', ...encrypted }, body: aes128gcmBody() };
const withHeaders = (headers: Record<string, string>): Sending => ({
  ...good,
  headers: { ...good.headers, ...headers },
});

const accepted: [string, Sending, { ttl?: string }?][] = [
  ['a message with TTL', good],
  ['a message without payload', { headers: { ttl: '60' } }],
  ['TTL 0', withHeaders({ ttl: '0' })],
  ['a TTL over 30 days, cut to 30 days', withHeaders({ ttl: '9999999999' }), { ttl: '2592000' }],
  ['every urgency', withHeaders({ urgency: 'very-low' })],
  ['an urgency in capitals', withHeaders({ urgency: 'HIGH' })],
  ['a topic of 32 characters', withHeaders({ topic: 'abcdefghijklmnopqrstuvwxyz-_0123' })],
  ['a body of 4096 bytes', { ...good, body: aes128gcmBody(4096 - 86) }],
  [
    'aesgcm with its two headers',
    {
      headers: { ttl: '60', 'content-encoding': 'aesgcm', encryption: 'salt=AAAA', 'crypto-key': 'dh=BBBB' },
      body: 'x',
    },
  ],
];

const refused: [string, number, number | null, Sending][] = [
  ['no TTL', 400, 111, { ...good, headers: encrypted }],
  ['a TTL that is no number', 400, 112, withHeaders({ ttl: 'soon' })],
  ['a negative TTL', 400, 112, withHeaders({ ttl: '-1' })],
  ['a TTL with a fraction', 400, 112, withHeaders({ ttl: '1.5' })],
  ['two TTLs', 400, 112, withHeaders({ ttl: '60, 60' })],
  ['an empty TTL', 400, 112, withHeaders({ ttl: '' })],
  ['a topic of 33 characters', 400, 113, withHeaders({ topic: 'a'.repeat(33) })],
  ['a topic beyond base64url', 400, 113, withHeaders({ topic: 'a+b' })],
  ['an empty topic', 400, 113, withHeaders({ topic: '' })],
  ['an unknown urgency', 400, null, withHeaders({ urgency: 'medium' })],
  ['two urgencies', 400, null, withHeaders({ urgency: 'low, high' })],
  ['a payload without content coding', 400, 110, { ...good, headers: { ttl: '60' } }],
  ['a payload in gzip', 400, 110, withHeaders({ 'content-encoding': 'gzip' })],
  ['aes128gcm that is too short', 400, 110, { ...good, body: aes128gcmBody(16) }],
  ['aes128gcm with a keyid that is no point', 400, 110, { ...good, body: Buffer.alloc(200) }],
  ['aes128gcm in more than one record', 400, 110, { ...good, body: inTwoRecords() }],
  ['aesgcm without salt', 400, 110, withHeaders({ 'content-encoding': 'aesgcm', 'crypto-key': 'dh=B' })],
  [
    'aesgcm without the sender key',
    400,
    110,
    withHeaders({ 'content-encoding': 'aesgcm', encryption: 'salt=A' }),
  ],
  ['a body of 4097 bytes', 413, 104, { ...good, body: aes128gcmBody(4097 - 86) }],
  ['a body of 300 kB', 413, 104, { ...good, body: Buffer.alloc(300_000) }],
];

function inTwoRecords(): Buffer {
  const body = aes128gcmBody(100);
  body.writeUInt32BE(50, 16);
  return body;
}

for (const [version, send] of versions) {
  test(`accepts over ${version}`, async (t) => {
    const { service, endpoint } = await startSubscribed(t);
    for (const [title, sending, { ttl } = {}] of accepted) {
      await t.test(title, async () => {
        const { status, headers, body } = await send(endpoint, sending);
        assert.equal(status, 201, body);
        assert.match(String(headers['location']), new RegExp(`^${service.origin}/m/[\\w-]{22}$`));
        assert.equal(headers['ttl'], ttl ?? sending.headers?.['ttl']);
        assert.equal(body, '');
      });
    }
  });

  test(`refuses over ${version}`, async (t) => {
    const { service, endpoint, agent } = await startSubscribed(t);
    for (const [title, code, errno, sending] of refused) {
      await t.test(title, async () => {
        assert.deepEqual(refusalOf(await send(endpoint, sending)), { status: code, code, errno });
      });
    }
    assert.deepEqual(service.statistics().undeliveredMessages, 0);
    assert.deepEqual(agent.pending, [], 'nothing that was refused reaches the user agent');
  });

  test(`answers for what is not there over ${version}`, async (t) => {
    const { service, endpoint, agent } = await startSubscribed(t);
    const unknown = await send(`${service.origin}/wpush/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`, good);
    assert.deepEqual(refusalOf(unknown), { status: 404, code: 404, errno: 102 });
    await agent.ask({ messageType: 'unregister', channelID: '11111111-1111-4111-8111-111111111111' });
    assert.deepEqual(refusalOf(await send(endpoint, good)), { status: 410, code: 410, errno: 106 });

    const wrongMethod = await send(endpoint, { method: 'GET' });
    assert.deepEqual([wrongMethod.status, wrongMethod.headers['allow']], [405, 'POST']);
    const notDelete = await send(`${service.origin}/m/x`, { method: 'GET' });
    assert.deepEqual([notDelete.status, notDelete.headers['allow']], [405, 'DELETE']);
    assert.equal((await send(`${service.origin}/elsewhere`)).status, 404);
    assert.equal((await send(`${endpoint}/further`, good)).status, 404);
    assert.equal((await send(`${service.origin}/`, { method: 'GET' })).status, 200);
  });
}

test('a body over 1 MB is refused without being read to its end', async (t) => {
  const { endpoint } = await startSubscribed(t);
  for (const [, send] of versions) {
    const result = await send(endpoint, { ...good, body: Buffer.alloc(3_000_000) }).catch(
      (error: unknown) => error,
    );
    // a sender that is still writing may see the refusal or the end of the connection
    if (!(result instanceof Error)) assert.equal((result as { status: number }).status, 413);
  }
  assert.equal((await versions[0]![1](endpoint, good)).status, 201);
});

test('bodies are not looked at where checksBodies is false', async (t) => {
  const { endpoint } = await startSubscribed(t, { checksBodies: false });
  for (const [, send] of versions) {
    assert.equal((await send(endpoint, { ...good, body: 'anything' })).status, 201);
  }
});

test('maxBodyBytes moves the limit', async (t) => {
  const { endpoint } = await startSubscribed(t, { limits: { maxBodyBytes: 200 } });
  for (const [, send] of versions) {
    assert.equal((await send(endpoint, { ...good, body: aes128gcmBody(114) })).status, 201);
    assert.equal((await send(endpoint, { ...good, body: aes128gcmBody(115) })).status, 413);
  }
});
