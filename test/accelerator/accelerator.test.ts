// The accelerator, built here where there is a C compiler and Node's headers; and what happens where there is none,
// or where it is not what it should be.
import assert from 'node:assert/strict';
import { createECDH, type ECDH } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';

import * as fc from 'fast-check';

import { buildAccelerator, fetchHeaders, findHeaders } from '../../scripts/build-accelerator.ts';
import { compiler, skipWithout } from '../../scripts/install-test-tools.ts';
import { encryptWithAddon, type Addon } from '../../src/accelerator/addon.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import { findFault } from '../../src/accelerator/self-check.ts';
import { createEncrypter, maxPlaintextBytes, type Encrypt } from '../../src/protocol/encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

const folder = mkdtempSync(join(tmpdir(), 'deskbell-accelerator-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'accelerator.node');
const skip = skipWithout('the accelerator', [compiler]);

let loaded: { readonly addon: Addon; readonly encrypt: Encrypt } | undefined;
/** Loaded once, by the first test that needs it. */
function native(): { readonly addon: Addon; readonly encrypt: Encrypt } {
  if (loaded === undefined) {
    const accelerator = loadAccelerator(file);
    assert.ok(accelerator.kind === 'native', accelerator.kind === 'builtin' ? accelerator.reason : '');
    loaded = accelerator;
  }
  return loaded;
}
const keys = generateUserAgentKeys();
const builtin = createEncrypter();
const plaintext = Buffer.from('{"title":"t","message":"m"}');

test('it builds without a warning, passes its check and is chosen', { skip }, () => {
  buildAccelerator(file, findHeaders() ?? fetchHeaders());
  assert.equal(loadAccelerator(file).kind, 'native');
});

test('an independent implementation reads what it encrypts, at any length', { skip }, () => {
  interface HttpEce {
    decrypt(content: Buffer, parameters: { version: string; privateKey: ECDH; authSecret: Buffer }): Buffer;
  }
  const httpEce = createRequire(import.meta.url)('http_ece') as HttpEce;
  const { encrypt } = native();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: maxPlaintextBytes, size: 'max' }), (bytes) => {
      const { privateKey, p256dh, auth } = generateUserAgentKeys();
      const receiver = createECDH('prime256v1');
      receiver.setPrivateKey(privateKey);
      const content = Buffer.from(encrypt(bytes, { p256dh, auth }));
      const read = httpEce.decrypt(content, {
        version: 'aes128gcm',
        privateKey: receiver,
        authSecret: Buffer.from(auth),
      });
      assert.deepEqual(read, Buffer.from(bytes));
    }),
    { numRuns: 1000 },
  );
});

test('no key pair and no salt comes twice', { skip }, () => {
  const { encrypt } = native();
  const seen = new Set<string>();
  for (let count = 0; count < 5000; count += 1) {
    const body = Buffer.from(encrypt(plaintext, keys));
    seen.add(body.toString('hex', 0, 16));
    seen.add(body.toString('hex', 21, 86));
  }
  assert.equal(seen.size, 10_000);
});

test('whatever stands in for p256dh, it answers as the builtin way does', { skip }, () => {
  const { encrypt } = native();
  const codeOf = (way: Encrypt, p256dh: Uint8Array, auth: Uint8Array): string => {
    try {
      return `${way(plaintext, { p256dh, auth }).length} bytes`;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const points = fc.oneof(
    fc.uint8Array({ minLength: 65, maxLength: 65 }),
    fc.uint8Array({ minLength: 64, maxLength: 64 }).map((xy) => Uint8Array.of(4, ...xy)),
    fc.uint8Array({ maxLength: 70 }),
    fc.record({ at: fc.nat({ max: 64 }), mask: fc.nat({ max: 255 }) }).map(({ at, mask }) => {
      const changed = Uint8Array.from(keys.p256dh);
      changed[at]! ^= mask;
      return changed;
    }),
  );
  const secrets = fc.oneof(fc.constant(keys.auth), fc.uint8Array({ maxLength: 20 }));
  fc.assert(
    fc.property(points, secrets, (p256dh, auth) => {
      assert.equal(codeOf(encrypt, p256dh, auth), codeOf(builtin, p256dh, auth));
    }),
    { numRuns: 2000 },
  );
  assert.deepEqual(Buffer.from(decryptPushMessage(encrypt(plaintext, keys), keys)), plaintext);
});

test('wrong arguments are exceptions, never a crash, and disturb nothing', { skip }, () => {
  const { addon, encrypt } = native();
  const call = addon.encrypt as (...values: unknown[]) => boolean;
  const body = new Uint8Array(plaintext.length + 103);
  const { p256dh, auth } = keys;
  const detached = new Uint8Array(plaintext.length + 103);
  structuredClone(detached, { transfer: [detached.buffer] });

  for (const values of [
    [],
    [body],
    [body, plaintext, p256dh],
    [undefined, undefined, undefined, undefined],
    [null, plaintext, p256dh, auth],
    [body, 'text', p256dh, auth],
    [body, 1, p256dh, auth],
    [body, plaintext, {}, auth],
    [body, plaintext, [...p256dh], auth],
    [body, plaintext, p256dh, auth.buffer],
    [body, plaintext, new Uint16Array(65), auth],
    [new DataView(body.buffer), plaintext, p256dh, auth],
    [new Float64Array(body.length), plaintext, p256dh, auth],
    [body, plaintext, p256dh, auth, undefined],
    [body, plaintext, p256dh, auth, 'fixed'],
    [body, plaintext, p256dh, Symbol('auth')],
    [body, plaintext, p256dh, 1n],
    [new Proxy(body, {}), plaintext, p256dh, auth],
  ]) {
    assert.throws(() => call(...values), TypeError);
  }
  for (const values of [
    [new Uint8Array(0), plaintext, p256dh, auth],
    [new Uint8Array(body.length - 1), plaintext, p256dh, auth],
    [new Uint8Array(body.length + 1), plaintext, p256dh, auth],
    [new Uint8Array(5000), new Uint8Array(5000 - 103), p256dh, auth],
    [body, plaintext, p256dh.subarray(1), auth],
    [body, plaintext, p256dh, auth.subarray(1)],
    [body, plaintext, p256dh, auth, new Uint8Array(112)],
    [detached, plaintext, p256dh, auth],
    [body, plaintext, detached, auth],
    // memory that would be written and read at the same time
    [body, body.subarray(0, plaintext.length), p256dh, auth],
    [body, plaintext, body.subarray(-65), auth],
    [body, plaintext, p256dh, body.subarray(7, 23)],
    [body, plaintext, p256dh, auth, body.subarray(0, 113)],
  ]) {
    assert.throws(() => call(...values), RangeError);
  }
  for (const messages of [undefined, null, 'many', '1', 1n, {}, [1]]) {
    assert.throws(() => (addon.runEcOperations as (messages: unknown) => void)(messages), TypeError);
  }
  for (const messages of [-1, -0.5, 1.5, Number.NaN, Infinity, -Infinity, 1_000_001, 2 ** 32, 2 ** 53]) {
    assert.throws(() => addon.runEcOperations(messages), RangeError);
  }
  addon.runEcOperations(0);
  // A pair that does not belong together cannot be used as a fixed one; what OpenSSL says of it must not linger.
  assert.throws(() => call(body, plaintext, p256dh, auth, new Uint8Array(113)), /OpenSSL/);
  createECDH('prime256v1').generateKeys();
  assert.deepEqual(Buffer.from(decryptPushMessage(encrypt(plaintext, keys), keys)), plaintext);
});

test(
  'several workers use it at the same time, and their ends disturb nobody',
  { skip, timeout: 60_000 },
  async () => {
    const { encrypt } = native();
    const loader = new URL('../../src/accelerator/load-accelerator.ts', import.meta.url).href;
    const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.loader).then(({ loadAccelerator }) => {
      const { kind, encrypt } = loadAccelerator(workerData.file);
      const bodies = [];
      for (let count = 0; count < 300; count += 1) bodies.push(encrypt(workerData.plaintext, workerData.keys));
      parentPort.postMessage({ kind, bodies: bodies.map((body) => Uint8Array.from(body)) });
    });`;
    const publicKeys = new Set<string>();
    for (let round = 0; round < 2; round += 1) {
      const workers = Array.from(
        { length: 4 },
        () => new Worker(code, { eval: true, workerData: { loader, file, plaintext, keys } }),
      );
      const answers = await Promise.all(
        workers.map(
          (worker) =>
            new Promise<{ kind: string; bodies: Uint8Array[] }>((resolve, reject) => {
              worker.once('message', resolve).once('error', reject);
            }),
        ),
      );
      for (const { kind, bodies } of answers) {
        assert.equal(kind, 'native');
        for (const body of bodies) {
          assert.deepEqual(Buffer.from(decryptPushMessage(body, keys)), plaintext);
          publicKeys.add(Buffer.from(body).toString('hex', 21, 86));
        }
      }
      await Promise.all(workers.map((worker) => worker.terminate()));
      assert.deepEqual(Buffer.from(decryptPushMessage(encrypt(plaintext, keys), keys)), plaintext);
    }
    assert.equal(publicKeys.size, 2 * 4 * 300);
  },
);

test('it keeps no memory per message', { skip, timeout: 60_000 }, () => {
  const { addon, encrypt } = native();
  const faulty = { ...keys, p256dh: Buffer.alloc(65, 1).fill(4, 0, 1) };
  const use = (messages: number): void => {
    for (let count = 0; count < messages; count += 1) {
      encrypt(plaintext, keys);
      if (count % 10 === 0) assert.throws(() => encrypt(plaintext, faulty));
    }
    addon.runEcOperations(messages / 10);
  };
  use(5000);
  const before = process.memoryUsage.rss();
  use(30_000);
  const grownBytes = process.memoryUsage.rss() - before;
  // A leaked key would have some 1000 bytes: 30 MB.
  assert.ok(grownBytes < 15_000_000, `grown by ${grownBytes} bytes`);
});

test('where it is not built, the builtin way is taken and a reason given', () => {
  const accelerator = loadAccelerator(join(folder, 'not-built.node'));
  assert.ok(accelerator.kind === 'builtin');
  assert.match(accelerator.reason, /^Encrypting with Node's builtins: .*npm run build:accelerator.*\.$/);
  const body = accelerator.encrypt(plaintext, keys);
  assert.deepEqual(Buffer.from(decryptPushMessage(body, keys)), plaintext);
});

test('a file that is no addon is not chosen, and the reason is one line', () => {
  const broken = join(folder, 'broken.node');
  writeFileSync(broken, 'not a library\n');
  const accelerator = loadAccelerator(broken);
  assert.ok(accelerator.kind === 'builtin');
  assert.match(accelerator.reason, /cannot be loaded/);
  assert.ok(!accelerator.reason.includes('\n'));
});

// Addons with one thing wrong each, around the real one: the check must find it.
const honest: Addon = {
  encrypt: (...given) => native().addon.encrypt(...given),
  runEcOperations: (messages) => native().addon.runEcOperations(messages),
};
const onePair = Buffer.concat([Buffer.alloc(16), keys.p256dh, keys.privateKey]);
/** Changes a byte of the body. */
const spoil = (body: Uint8Array): true => {
  body[90]! ^= 1;
  return true;
};
const wrong: readonly [string, Partial<Addon>, RegExp][] = [
  [
    'that changes one byte',
    { encrypt: (...given) => honest.encrypt(...given) && spoil(given[0]) },
    /RFC 8291/,
  ],
  [
    'that is wrong for long messages only',
    { encrypt: (...given) => honest.encrypt(...given) && (given[1].length < 3000 || spoil(given[0])) },
    /it failed: A record was changed/,
  ],
  [
    'that uses a key pair again',
    {
      encrypt: (body, text, p256dh, auth, fixed = onePair) => honest.encrypt(body, text, p256dh, auth, fixed),
    },
    /a key pair or a salt twice/,
  ],
  [
    'that takes any point',
    { encrypt: (...given) => honest.encrypt(...given) || true },
    /takes a point off the curve/,
  ],
  ['that takes no point', { encrypt: () => false }, /it failed: p256dh is not a point/],
  ['that does nothing', { encrypt: () => true }, /RFC 8291/],
  ['without its functions', {}, /it failed/],
];

for (const [what, addon, fault] of wrong) {
  test(`an addon ${what} does not pass the check`, { skip }, () => {
    assert.match(findFault(addon as Addon) ?? 'no fault found', fault);
  });
}

test('an addon that is right passes the check', { skip }, () => assert.equal(findFault(honest), undefined));

test('it takes the same lengths as the builtin way', { skip }, () => {
  const encrypt = encryptWithAddon(native().addon);
  for (const length of [0, 1, maxPlaintextBytes]) {
    assert.equal(encrypt(new Uint8Array(length), keys).length, builtin(new Uint8Array(length), keys).length);
  }
  assert.throws(() => encrypt(new Uint8Array(maxPlaintextBytes + 1), keys), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
  });
});
