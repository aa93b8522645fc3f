// `sendNotification` of both packages against the same push service: what arrives there, and what the caller gets. Then
// what is ours alone: HTTP/2, any number at once, the address guard, Node's TLS environment, `require`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';

import { setAddressGuard, type RequestOptions, type SendResult } from '../../src/web-push/index.ts';
import { createTokenCache } from '../../src/web-push/vapid.ts';
import { describeRequest, makeSubscriber, observe, original, ours, type WebPush } from './original.ts';
import { freePort } from '../../tools/listening.ts';
import { certificate, startProxy, startPushServer } from './push-servers.ts';

const run = promisify(execFile);
const keys = ours.generateVAPIDKeys();
const vapidDetails = { subject: 'mailto:push@example.org', ...keys };
const entry = join(import.meta.dirname, '../../src/web-push/index.ts');

let server: Awaited<ReturnType<typeof startPushServer>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let refusingProxy: typeof proxy;
let subscriber: ReturnType<typeof makeSubscriber>;
const agent = new Agent({ keepAlive: true });

before(async () => {
  // Both read it when they connect.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  server = await startPushServer();
  proxy = await startProxy();
  refusingProxy = await startProxy(407);
  subscriber = makeSubscriber(server.origin);
});
after(async () => {
  agent.destroy();
  await Promise.all([server, proxy, refusingProxy].map((one) => one.close()));
});

const to = (path: string) => ({ ...subscriber.subscription, endpoint: server.origin + path });
const toNowhere = () => ({ ...subscriber.subscription, endpoint: 'https://push.invalid/x' });

/** The fields of an answer that the version of HTTP has no part in. */
function describeResult({ statusCode, body, headers }: SendResult): unknown {
  return { statusCode, body, location: headers['location'], own: headers['x-own'] };
}

async function agree(call: (library: WebPush) => Promise<SendResult>): Promise<void> {
  const observed = [];
  for (const library of [original, ours]) {
    const outcome = await observe(async () => describeResult(await call(library)));
    const requests = server.take().map(({ method, path, headers, body }) => ({
      ...describeRequest(headers, body, subscriber),
      method,
      path,
    }));
    observed.push({ outcome, requests, tunnels: proxy.take() });
  }
  assert.deepEqual(observed[1], observed[0]);
}

suite('both send and give the same', () => {
  const options: Readonly<Record<string, () => RequestOptions>> = {
    'no options': () => ({}),
    'a VAPID pair': () => ({ vapidDetails }),
    aesgcm: () => ({ vapidDetails, contentEncoding: 'aesgcm' }),
    'every option': () => ({
      vapidDetails,
      TTL: 60,
      urgency: 'high',
      topic: 'topic',
      timeout: 10_000,
      headers: { 'X-Own': 'own', Host: 'elsewhere.example.org' },
    }),
    'header fields of both cases': () => ({ headers: { 'X-Own': '1', 'x-own': '2', urgency: 'low' } }),
    'numbers in header fields': () => ({ headers: { 'X-Own': 1 } as unknown as Record<string, string> }),
    'a header field that is not legal': () => ({ headers: { 'X Own': 'own' } }),
    'a header field with a line break': () => ({ headers: { 'X-Own': 'a\nb' } }),
    'several values of a header field': () => ({
      headers: { 'X-Own': ['a', 'b'] } as unknown as Record<string, string>,
    }),
    'a time-out that is none': () => ({ timeout: -1 }),
    'an agent': () => ({ vapidDetails, agent }),
    'a proxy': () => ({ vapidDetails, proxy: proxy.url }),
    'a proxy as an object': () => ({ vapidDetails, proxy: { host: '127.0.0.1', port: proxy.port } }),
    'a proxy that refuses': () => ({ vapidDetails, proxy: refusingProxy.url }),
  };
  for (const [what, make] of Object.entries(options)) {
    for (const payload of [undefined, 'text', 'ü'.repeat(1990), 'x'.repeat(6000)]) {
      test(`with ${what} and ${payload === undefined ? 'no payload' : `${payload.length} characters`}`, () =>
        agree((library) => library.sendNotification(to('/status/201?body=ok'), payload, make())));
    }
  }

  for (const status of [200, 202, 299, 301, 400, 401, 403, 404, 410, 413, 429, 500, 503]) {
    test(`for the status ${status}`, async () => {
      const subscription = to(`/status/${status}?body=a+reason`);
      await agree((library) => library.sendNotification(subscription, 'text', { vapidDetails }));
      const members = await Promise.all(
        [original, ours].map((library) =>
          library.sendNotification(subscription, 'text').then(
            () => undefined,
            (error: unknown) => {
              assert.ok(error instanceof library.WebPushError);
              return [error.body, error.endpoint, error.headers['x-own'], Object.keys(error).sort()];
            },
          ),
        ),
      );
      assert.deepEqual(members[1], members[0]);
      server.take();
    });
  }

  test('for a key that is no point on the curve', () =>
    agree((library) => {
      const p256dh = Buffer.alloc(65, 4).toString('base64url');
      const subscription = to('/status/201');
      return library.sendNotification({ ...subscription, keys: { ...subscription.keys, p256dh } }, 'text');
    }));

  test('for an endpoint whose scheme is http', () =>
    agree((library) => {
      const subscription = to('/status/201');
      const endpoint = subscription.endpoint.replace('https:', 'http:');
      return library.sendNotification({ ...subscription, endpoint }, 'text', { vapidDetails });
    }));

  test('where nothing listens, and where the host does not exist', async () => {
    const port = await freePort();
    for (const origin of [`https://127.0.0.1:${port}`, 'https://push.example.invalid']) {
      await agree((library) => library.sendNotification({ ...to(''), endpoint: `${origin}/x` }, 'text'));
    }
  });

  test('where the connection ends without an answer', () =>
    agree((library) => library.sendNotification(to('/hang-up'), 'text')));

  test('where no answer comes within the time-out', () =>
    agree((library) => library.sendNotification(to('/silence'), 'text', { timeout: 200 })));
});

suite('ours', () => {
  test('sends over HTTP/2 unless an agent, a proxy or the transport of Node is given', async () => {
    await ours.sendNotification(to('/status/201'), 'text');
    await ours.sendNotification(to('/status/201'), 'text', { timeout: 5000, contentEncoding: 'aesgcm' });
    await ours.sendNotification(to('/status/201'), 'text', { agent });
    await ours.sendNotification(to('/status/201'), 'text', { proxy: proxy.url });
    await ours.sendNotification(to('/status/201'), 'text', { transport: 'node' });
    const versions = server.take().map(({ httpVersion }) => httpVersion);
    assert.deepEqual(versions, ['2.0', '2.0', '1.1', '1.1', '1.1']);
    proxy.take();
  });

  test('signs once for many messages', async () => {
    for (let count = 0; count < 3; count += 1) {
      await ours.sendNotification(to('/status/201'), 'text', { vapidDetails });
    }
    const values = server.take().map(({ headers }) => headers['authorization']);
    assert.equal(new Set(values).size, 1);
  });

  test('signs again after eleven hours', () => {
    let nowMs = Date.now();
    const getHeaders = createTokenCache(() => nowMs);
    const sign = () => getHeaders('https://push.example.org', vapidDetails, 'aes128gcm').Authorization;
    const first = sign();
    nowMs += 11 * 60 * 60 * 1000 - 1;
    assert.equal(sign(), first);
    nowMs += 1;
    assert.notEqual(sign(), first);
  });

  test('takes more messages at once than the transport queues', async () => {
    const count = 6000;
    const sent = Array.from({ length: count }, (_, index) =>
      ours.sendNotification(to(`/gate/201?body=${index}`), `message ${index}`),
    );
    // No answer yet, in as many turns as it takes to hand over all of them.
    for (let turn = 0; turn < 2 * count; turn += 64) await nextTurn();
    server.open();
    const bodies = (await Promise.all(sent)).map(({ body }) => body);
    assert.deepEqual(
      bodies,
      Array.from({ length: count }, (_, index) => String(index)),
    );
    const sample = server.take().filter((_, index) => index % 100 === 0);
    for (const { headers, body, path } of sample) {
      const { text } = describeRequest(headers, body, subscriber) as { readonly text?: string };
      assert.equal(text, `message ${path.split('=')[1]}`);
    }
  });

  test('takes a time-out of its own with every message', async () => {
    const sent = Array.from({ length: 20 }, (_, index) =>
      ours.sendNotification(to('/status/201'), 'text', { timeout: 60_000 + index }),
    );
    assert.deepEqual([...new Set((await Promise.all(sent)).map(({ statusCode }) => statusCode))], [201]);
    assert.equal(server.take().length, 20);
  });

  test('goes on sending to a push service that fails', async () => {
    for (let count = 0; count < 3; count += 1)
      await assert.rejects(ours.sendNotification(toNowhere(), 'text'), { code: 'ENOTFOUND' });
  });

  test('with the address guard, connects to public addresses only', async () => {
    setAddressGuard(true);
    try {
      for (const options of [{}, { agent }, { proxy: proxy.url }]) {
        const sent = ours.sendNotification(to('/status/201'), 'text', options);
        await assert.rejects(sent, { code: 'ERR_ADDRESS_BLOCKED' });
      }
      for (const options of [{}, { agent }])
        await assert.rejects(ours.sendNotification(toNowhere(), 'text', options), { code: 'ENOTFOUND' });
    } finally {
      setAddressGuard(false);
    }
    assert.deepEqual([server.take(), proxy.take()], [[], []]);
    await ours.sendNotification(to('/status/201'), 'text');
    assert.equal(server.take().length, 1);
  });
});

const runScript = async (
  script: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const { PATH = '', HOME = '' } = process.env;
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '--eval', script], {
    env: { PATH, HOME, ...environment },
  });
  return stdout.trim();
};
const send = (library: string): string => `
  const webPush = require(${JSON.stringify(library)});
  webPush.sendNotification(${JSON.stringify(to('/status/201'))}, 'text')
    .then(({ statusCode }) => console.log(statusCode), ({ code }) => console.log(code));`;

suite('in a process of its own', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-web-push-'));
    await writeFile(join(folder, 'ca.pem'), certificate.cert);
  });
  after(() => rm(folder, { recursive: true }));

  test('the certificates of NODE_EXTRA_CA_CERTS are trusted, and others are not', async () => {
    for (const library of ['web-push', entry]) {
      const trusting = await runScript(send(library), { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') });
      assert.equal(trusting, '201', library);
      assert.equal(await runScript(send(library)), 'DEPTH_ZERO_SELF_SIGNED_CERT', library);
    }
  });
});
