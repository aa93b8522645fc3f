// ntfy's own server as a push service of UnifiedPush: topics are registered, get a broadcast, and what their subscribers read there is
// the message. ntfy is no package of Debian: without its program on the path (https://docs.ntfy.sh/install), this is skipped.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { find } from '../scripts/install-test-tools.ts';
import { createSender } from '../src/delivery/sender.ts';
import { defaultRetryPolicy } from '../src/delivery/settings/retry-policy.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../src/protocol/user-agent.ts';
import { generateVapidKeys } from '../src/protocol/vapid.ts';
import { makeCertificate } from '../src/push-service/http/certificate.ts';
import { assertDone } from '../test/delivery/broadcast-bench.ts';
import { sendJson, startService } from '../test/service/running-service.ts';
import { freePort, untilListening } from '../tools/listening.ts';
import { within } from '../tools/until.ts';

const ntfy = find({ names: ['ntfy'], debianPackage: 'ntfy' });
const skip = ntfy === undefined && 'The program ntfy is not on the path.';

const host = 'ntfy.example.net';
const origin = `https://${host}`;
const keys = generateVapidKeys();
const message = { title: 'UnifiedPush', message: 'through ntfy' };
/** Of each subscriber, in a day. */
const messageLimit = 3;

test('ntfy takes a broadcast, and its answers mean what they mean to it', { skip }, async (t) => {
  const server = await startNtfy(t);
  const options = { vapidPublicKey: keys.publicKey, pushServices: 'public', pushOnly: true } as const;
  const { base, store } = await startService(options, t);
  const register = async (topic: string) => {
    const { p256dh, auth, privateKey } = generateUserAgentKeys();
    const [point, secret] = [p256dh, auth].map((bytes) => Buffer.from(bytes).toString('base64url'));
    const subscription = { endpoint: `${origin}/${topic}?up=1`, p256dh: point!, auth: secret! };
    const response = await sendJson(base, 'POST', '/webPush', subscription);
    assert.equal(response.status, 200, await response.text());
    return { ...subscription, keys: { p256dh, auth, privateKey } };
  };
  const [ada, ben] = [await register('upAdaAdaAda001'), await register('upBenBenBen002')];
  await register('upNobody000003');
  const reading = [
    await server.subscribe('upAdaAdaAda001', '203.0.113.1'),
    await server.subscribe('upBenBenBen002', '203.0.113.2'),
  ];
  const sender = createSender({
    vapid: { ...keys, subject: 'mailto:ops@example.org' },
    store,
    pushServices: 'public',
    threads: 0,
    retryPolicy: { ...defaultRetryPolicy, maxAttempts: 1 },
    ca: [server.ca],
    connectOverride: () => ({ host: '127.0.0.1', port: server.port }),
  });
  t.after(() => sender.close());

  const run = await sender.broadcast('all', message);
  assertDone(await run.finished, { accepted: 2, gone: 1 });
  for (const [index, { keys: userAgentKeys }] of [ada, ben].entries()) {
    const body = await within(reading[index]!(), 'a message of ntfy');
    const payload = Buffer.from(decryptPushMessage(body, userAgentKeys)).toString();
    assert.deepEqual(JSON.parse(payload), message);
  }

  const outcomes = [];
  for (let sent = 1; sent <= messageLimit; sent += 1)
    outcomes.push((await sender.send(ada, message)).outcome);
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['accepted', 'accepted', 'retry'],
  );
  const last = outcomes.at(-1);
  assert.ok(last?.kind === 'retry' && last.reason === 'throttled' && !last.slowsOrigin);
  assert.equal((await sender.send(ben, message)).outcome.kind, 'accepted');
});

async function startNtfy(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-ntfy-'));
  const [port, plainPort] = [await freePort(), await freePort()];
  const { cert, key } = makeCertificate([host]);
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const program = spawn(
    ntfy!,
    [
      'serve',
      '--listen-http',
      `127.0.0.1:${plainPort}`,
      '--listen-https',
      `127.0.0.1:${port}`,
      '--cert-file',
      certFile,
      '--key-file',
      keyFile,
      '--base-url',
      origin,
      '--cache-file',
      join(folder, 'cache.db'),
      '--behind-proxy',
      '--visitor-subscriber-rate-limiting',
      '--visitor-message-daily-limit',
      String(messageLimit),
    ],
    { stdio: 'ignore' },
  );
  t.after(async () => {
    const ended = once(program, 'exit');
    program.kill();
    await ended;
    await rm(folder, { recursive: true });
  });
  await untilListening(program, port);
  await untilListening(program, plainPort);
  return {
    port,
    ca: cert,
    /** @returns what gives the next message of the topic, once it is read as from this address */
    async subscribe(topic: string, address: string): Promise<() => Promise<Uint8Array>> {
      const headers = { 'x-forwarded-for': address };
      const request = get(`http://127.0.0.1:${plainPort}/${topic}/json`, { headers });
      t.after(() => request.destroy());
      const [response] = await within(once(request, 'response'), 'ntfy to answer');
      const lines = createInterface({ input: response })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await lines.next()).value!) as Record<string, string>;
      assert.equal((await within(next(), 'the topic to be open'))['event'], 'open');
      return async () => {
        const { event, message: text, encoding } = await next();
        assert.deepEqual({ event, encoding }, { event: 'message', encoding: 'base64' });
        return Buffer.from(text!, 'base64');
      };
    },
  };
}
