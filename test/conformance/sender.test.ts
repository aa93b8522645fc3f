// The specification's sentences about sending. Each title is the meaning of a sentence; the site’s page of conformance is made
// from them.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createSender } from '../../src/delivery/sender.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
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

describe('Sender operation', () => {
  test('Server-side code sends to the subscription that a client has registered, and the client gets it', async () => {
    const { endpoint } = await subscribe(service);
    const subscription = await subscribe(service);
    await service.ask('POST', '/webPush', subscription);
    const stored = await service.data.store.subscriptions.findByEndpoint(subscription['endpoint']!);
    const { outcome } = await service.sender.send(stored!, message);
    assert.equal(outcome.kind, 'accepted');
    const received = await service.userAgent.nextMessage();
    assert.equal(received.endpoint, subscription['endpoint']);
    assert.notEqual(received.endpoint, endpoint);
  });

  test('The payload is the bytes of the JSON object {title, message}', async () => {
    const { endpoint, p256dh, auth } = await subscribe(service);
    await service.sender.send({ endpoint: endpoint!, p256dh: p256dh!, auth: auth! }, message);
    const { data } = await service.userAgent.nextMessage();
    assert.equal(Buffer.from(data!).toString('utf8'), JSON.stringify(message));
  });

  test('The result is the push service’s HTTP response', async () => {
    const { endpoint, p256dh, auth } = await subscribe(service);
    const { response } = await service.sender.send(
      { endpoint: endpoint!, p256dh: p256dh!, auth: auth! },
      message,
    );
    await service.userAgent.nextMessage();
    assert.equal(response?.status, 201);
    assert.match(String(response?.headers['location']), /./);
  });

  test('One push request is sent to the subscription’s endpoint', async (t) => {
    const requests: { method: string; url: string; headers: IncomingHttpHeaders }[] = [];
    const pushService = createServer((request, response) => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, url, headers });
      request.resume().on('end', () => response.writeHead(201).end());
    });
    await new Promise<void>((resolve) => pushService.listen(0, '127.0.0.1', resolve));
    t.after(() => pushService.close());
    const origin = `http://127.0.0.1:${(pushService.address() as AddressInfo).port}`;
    const keys = generateVapidKeys();
    const sender = createSender({ vapid: { ...keys, subject: contact }, pushServices: [origin] });
    t.after(() => sender.close());
    const { p256dh, auth } = await subscribe(service);
    await sender.send({ endpoint: `${origin}/a/b?c=d%2B+e`, p256dh: p256dh!, auth: auth! }, message);

    assert.equal(requests.length, 1);
    const [{ method, url, headers }] = requests as [(typeof requests)[0]];
    assert.equal(method, 'POST');
    assert.equal(url, '/a/b?c=d%2B+e');
    assert.equal(headers['content-encoding'], 'aes128gcm');
    const [, token = '', key] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(headers.authorization ?? '') ?? [];
    assert.equal(key, keys.publicKey);
    const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as object;
    assert.deepEqual({ ...claims, exp: 0 }, { aud: origin, sub: contact, exp: 0 });
  });

  test('Authentication to the push service is by VAPID: another key pair is refused', async (t) => {
    const { endpoint, p256dh, auth } = await subscribe(service);
    const origin = new URL(endpoint!).origin;
    const stranger = createSender({
      vapid: { ...generateVapidKeys(), subject: contact },
      pushServices: [origin],
    });
    t.after(() => stranger.close());
    const { response } = await stranger.send({ endpoint: endpoint!, p256dh: p256dh!, auth: auth! }, message);
    assert.ok(response !== undefined && [401, 403].includes(response.status));

    const own = await service.sender.send({ endpoint: endpoint!, p256dh: p256dh!, auth: auth! }, message);
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

    const tokens: string[] = [];
    const pushService = createServer((request, response) => {
      tokens.push(/t=([\w.-]+)/.exec(request.headers.authorization ?? '')?.[1] ?? '');
      request.resume().on('end', () => response.writeHead(201).end());
    });
    await new Promise<void>((resolve) => pushService.listen(0, '127.0.0.1', resolve));
    t.after(() => pushService.close());
    const origin = `http://127.0.0.1:${(pushService.address() as AddressInfo).port}`;
    const subject = 'mailto:set-on-the-sender@deskbell.example';
    const sender = createSender({ vapid: { ...keys, subject }, pushServices: [origin] });
    t.after(() => sender.close());
    const { p256dh, auth } = await subscribe(service);
    await sender.send({ endpoint: `${origin}/a`, p256dh: p256dh!, auth: auth! }, message);
    const claims = JSON.parse(Buffer.from(tokens[0]!.split('.')[1]!, 'base64url').toString()) as object;
    assert.equal((claims as { sub: string }).sub, subject);
  });

  test('The service sends no webhooks: a registration makes no request to the endpoint', async (t) => {
    let requests = 0;
    const endpointServer = createServer((_request, response) => {
      requests += 1;
      response.end();
    });
    await new Promise<void>((resolve) => endpointServer.listen(0, '127.0.0.1', resolve));
    t.after(() => endpointServer.close());
    const origin = `http://127.0.0.1:${(endpointServer.address() as AddressInfo).port}`;
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
