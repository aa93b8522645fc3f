// The specification's sentences about sending. Each title is the meaning of a sentence; the site’s page of conformance is made
// from them.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { startServer } from '../transport/peers.ts';
import {
  contact,
  startConformanceService,
  subscribe,
  type ConformanceService,
} from './conformance-service.ts';

let service: ConformanceService;
before(async () => {
  service = await startConformanceService();
});
after(() => service[Symbol.asyncDispose]());

const message = { title: 'Ding dong', message: 'Tea is ready — 🍵' };

/** Sends one message, and says what a plain server gets at this path. */
async function sendToPlainServer(t: TestContext, vapid: SenderOptions['vapid'], path: string) {
  const requests: { method: string; url: string; headers: IncomingHttpHeaders }[] = [];
  const pushService = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers });
    request.resume().on('end', () => response.writeHead(201).end());
  });
  const { origin, close } = await startServer(pushService, 'http');
  t.after(close);
  const sender = createSender({ vapid, pushServices: [origin] });
  t.after(() => sender.close());
  await sender.send({ ...(await subscribe(service)), endpoint: origin + path }, message);
  return { origin, requests };
}

function tokenOf({ authorization = '' }: IncomingHttpHeaders) {
  const [, token = '', key] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as {
    sub: string;
    exp: number;
  };
  return { key, claims };
}

describe('Sender operation', () => {
  test('Server-side code sends to the subscription that a client has registered, and the client gets it', async () => {
    const { endpoint } = await subscribe(service);
    const subscription = await subscribe(service);
    await service.ask('POST', '/webPush', subscription);
    const stored = await service.data.store.subscriptions.findByEndpoint(subscription.endpoint);
    const { outcome } = await service.sender.send(stored!, message);
    assert.equal(outcome.kind, 'accepted');
    const received = await service.userAgent.nextMessage();
    assert.equal(received.endpoint, subscription.endpoint);
    assert.notEqual(received.endpoint, endpoint);
  });

  test('The payload is the bytes of the JSON object {title, message}', async () => {
    await service.sender.send(await subscribe(service), message);
    const { data } = await service.userAgent.nextMessage();
    assert.equal(Buffer.from(data!).toString('utf8'), JSON.stringify(message));
  });

  test('The result is the push service’s HTTP response', async () => {
    const { response } = await service.sender.send(await subscribe(service), message);
    await service.userAgent.nextMessage();
    assert.equal(response?.status, 201);
    assert.match(String(response?.headers['location']), /./);
  });

  test('One push request is sent to the subscription’s endpoint', async (t) => {
    const vapid = { ...generateVapidKeys(), subject: contact };
    const { origin, requests } = await sendToPlainServer(t, vapid, '/a/b?c=d%2B+e');
    assert.equal(requests.length, 1);
    const { method, url, headers } = requests[0]!;
    assert.equal(method, 'POST');
    assert.equal(url, '/a/b?c=d%2B+e');
    assert.equal(headers['content-encoding'], 'aes128gcm');
    const { key, claims } = tokenOf(headers);
    assert.equal(key, vapid.publicKey);
    assert.deepEqual({ ...claims, exp: 0 }, { aud: origin, sub: contact, exp: 0 });
  });

  test('Authentication to the push service is by VAPID: another key pair is refused', async (t) => {
    const subscription = await subscribe(service);
    const { origin } = new URL(subscription.endpoint);
    const stranger = createSender({
      vapid: { ...generateVapidKeys(), subject: contact },
      pushServices: [origin],
    });
    t.after(() => stranger.close());
    const { response } = await stranger.send(subscription, message);
    assert.ok(response !== undefined && [401, 403].includes(response.status));

    const own = await service.sender.send(subscription, message);
    assert.equal(own.response?.status, 201);
    await service.userAgent.nextMessage();
  });

  test('The subject is a contact URI of mailto: form, set on the sender', async (t) => {
    const keys = generateVapidKeys();
    const schemes = ['ftp://example.org', 'http://example.org', 'tel:+4930123456', 'urn:example:a'];
    for (const subject of ['not a contact', '', 'push@example.org', ...schemes]) {
      assert.throws(() => createSender({ vapid: { ...keys, subject } }), {
        code: 'ERR_VAPID_SUBJECT_INVALID',
      });
    }

    const subject = 'mailto:set-on-the-sender@deskbell.example';
    const { requests } = await sendToPlainServer(t, { ...keys, subject, lifetimeSeconds: 600 }, '/a');
    const { claims } = tokenOf(requests[0]!.headers);
    assert.equal(claims.sub, subject);
    assert.ok(claims.exp <= Date.now() / 1000 + 600, 'the token ends after the given lifetime');
  });

  test('The service sends no webhooks: a registration makes no request to the endpoint', async (t) => {
    let requests = 0;
    const endpointServer = createServer((_request, response) => {
      requests += 1;
      response.end();
    });
    const { origin, close } = await startServer(endpointServer, 'http');
    t.after(close);
    const subscription = { ...(await subscribe(service)), endpoint: `${origin}/x` };
    // A process of its own, which ends by itself: whatever it has left to do for later is done by then.
    const registering = fork(join(import.meta.dirname, 'registering-process.ts'), [
      JSON.stringify(subscription),
    ]);
    const [exitCode] = (await once(registering, 'exit')) as [number | null];
    assert.equal(exitCode, 0);
    assert.equal(requests, 0);
  });
});
