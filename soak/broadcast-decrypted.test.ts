// One broadcast by two processes of two threads each, of which every message is read as its browser would: with
// `http_ece`, which is not ours. Nobody gets what is another's, and no key pair and no salt comes twice, whoever made it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createSecureServer } from 'node:http2';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';

import { loadAccelerator } from '../src/accelerator/load-accelerator.ts';
import { openDataDirectory } from '../src/cli/data/data-directory.ts';
import { createSender } from '../src/index.ts';
import { makeCertificate } from '../src/push-service/http/certificate.ts';
import { scaled } from './scale.ts';
import { until } from '../tools/until.ts';

const rows = scaled(100_000);
const processes = 2;
const threads = 2;
const longestMs = 20 * 60 * 1000;
const message = { title: 'Ding dong', message: 'Tea is ready' };

interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}
const ece = createRequire(import.meta.url)('http_ece') as HttpEce;

interface Subscriber {
  readonly privateKey: Buffer;
  readonly auth: Buffer;
}

test(`${rows} messages of ${processes} processes are read, each by its own receiver`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-decrypted-'));
  t.after(() => rm(directory, { recursive: true }));
  const receiver = await startReceiver(t, directory);
  const id = await storeBroadcast(directory, receiver);
  const workers = Array.from({ length: processes }, () => startWorker(directory, receiver));
  await until(
    () => {
      for (const worker of workers) assert.equal(worker.exitCode, null, 'a worker has ended');
      return receiver.messages.length >= rows;
    },
    () => `${rows} messages, of which ${receiver.messages.length} have come`,
    longestMs,
  );
  await Promise.all(
    workers.map(async (worker) => {
      const exited = once(worker, 'exit');
      worker.kill('SIGTERM');
      await exited;
    }),
  );

  const { store, close } = await openDataDirectory(directory);
  const broadcast = await store.broadcasts.find(id);
  await close();
  const { messages, subscribers } = receiver;
  // RFC 8188 §2.1: salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65)
  const salts = new Set(messages.map(({ body }) => body.toString('base64', 0, 16)));
  const keys = new Set(messages.map(({ body }) => body.toString('base64', 21, 21 + 65)));
  const faults = messages.flatMap(({ path, body }) => findFault(subscribers.get(path), body) ?? []);
  t.diagnostic(
    `method ${loadAccelerator().method}: ${messages.length} messages, ${faults.length} wrong, ` +
      `${salts.size} salts, ${keys.size} keys`,
  );
  assert.deepEqual(faults, []);
  assert.equal(broadcast?.counts.accepted, rows);
  assert.deepEqual([messages.length, salts.size, keys.size], [rows, rows, rows]);
  assert.equal(new Set(messages.map(({ path }) => path)).size, rows, 'everybody got it, and nobody twice');
});

interface Receiver {
  readonly origin: string;
  readonly certificatePath: string;
  readonly subscribers: Map<string, Subscriber>;
  /** Read when all have come: a push service that is slow would be written to slowly. */
  readonly messages: { readonly path: string; readonly body: Buffer }[];
}

async function startReceiver(t: TestContext, directory: string): Promise<Receiver> {
  const { key, cert } = makeCertificate(['127.0.0.1']);
  const certificatePath = join(directory, 'certificate.pem');
  await writeFile(certificatePath, cert);
  const server = createSecureServer({ key, cert });
  const receiver: Receiver = {
    origin: '',
    certificatePath,
    subscribers: new Map(),
    messages: [],
  };
  server.on('request', (request, response) => {
    void buffer(request).then((body) => {
      receiver.messages.push({ path: request.url, body });
      response.writeHead(201).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return Object.assign(receiver, { origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** What keeps a receiver from reading its message. */
function findFault(subscriber: Subscriber | undefined, body: Buffer): string | undefined {
  if (subscriber === undefined) return 'There is no such receiver.';
  const privateKey = createECDH('prime256v1');
  privateKey.setPrivateKey(subscriber.privateKey);
  const parameters = { version: 'aes128gcm', privateKey, authSecret: subscriber.auth };
  try {
    const { title, message: text } = JSON.parse(ece.decrypt(body, parameters).toString()) as typeof message;
    return title === message.title && text === message.message ? undefined : `It reads ${title}: ${text}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** @returns the broadcast's id */
async function storeBroadcast(directory: string, { origin, subscribers }: Receiver): Promise<number> {
  const { store, vapidKeys, close } = await openDataDirectory(directory);
  const ecdh = createECDH('prime256v1');
  const rowsAtOnce = 5000;
  for (let first = 0; first < rows; first += rowsAtOnce) {
    const subscriptions = Array.from({ length: Math.min(rowsAtOnce, rows - first) }, (_, index) => {
      const path = `/push/${first + index}`;
      const p256dh = new Uint8Array(ecdh.generateKeys());
      const auth = randomBytes(16);
      subscribers.set(path, { privateKey: ecdh.getPrivateKey(), auth });
      return {
        subscription: { endpoint: origin + path, p256dh, auth: new Uint8Array(auth) },
        vapidPublicKey: vapidKeys.publicKey,
      };
    });
    await store.subscriptions.putAll(subscriptions);
  }
  const vapid = { ...vapidKeys, subject: 'mailto:push@example.org' };
  const sender = createSender({ vapid, store, pushServices: [origin] });
  const { broadcast } = await sender.createBroadcast('all', message);
  await sender.close();
  await close();
  return broadcast.id;
}

function startWorker(directory: string, { origin, certificatePath }: Receiver) {
  const main = join(import.meta.dirname, '../src/cli/main.cts');
  const flags = ['--data', directory, '--push-services', origin, '--ca', certificatePath];
  const words = [
    main,
    'worker',
    ...flags,
    '--threads',
    String(threads),
    '--subject',
    'mailto:push@example.org',
  ];
  return spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] });
}
