// The accelerator: how it is built, that no key comes twice and no memory is kept, threads, and how its check is remembered.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import * as fc from 'fast-check';

import { compileAccelerator } from '../../scripts/accelerator/compile.ts';
import { findOrFetchHeaders } from '../../scripts/accelerator/inputs.ts';
import { buildAccelerator } from '../../scripts/build-accelerator.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import { maxPlaintextBytes, type Encrypt } from '../../src/protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { builtin, cacheFolder, file, folder, keys, methods, native, plaintext, skip } from './native.ts';

test('it builds without a warning, equally each time, passes its check and is chosen', { skip }, () => {
  const built = join(folder, 'built.node');
  buildAccelerator(built, findOrFetchHeaders());
  assert.notEqual(loadAccelerator({ file: built, cacheFolder }).method, 'builtin');
  assert.equal(loadAccelerator({ file: built, cacheFolder, fastest: 'openssl' }).method, 'openssl');
  assert.ok(readFileSync(built).equals(readFileSync(file)));
});

for (const [what, name] of [
  ['all results', 'vec_add_high(sum, a, b) vec_add_low(sum, a, b)'],
  ['public keys', 'vec_look_up(index, first, second) vec_look_up(index, second, first)'],
] as const) {
  test(
    `lanes that are wrong in ${what} are not used, and OpenSSL takes one after the other`,
    { skip },
    () => {
      const header = join(folder, 'wrong.h');
      const built = join(folder, `wrong-${name.length}.node`);
      writeFileSync(header, `#include "${join(import.meta.dirname, 'portable-lanes.h')}"\n#define ${name}\n`);
      compileAccelerator(built, findOrFetchHeaders(), ['-O1', `-DLANES_HEADER="${header}"`]);
      const { method, reason, encryptBatch } = loadAccelerator({ file: built, cacheFolder });
      assert.equal(method, 'openssl');
      assert.match(reason!, /^Encrypting one message after the other: .*eight at a time, it /);
      assert.equal(loadAccelerator({ file: built, cacheFolder, fastest: 'openssl' }).reason, undefined);
      const body = encryptBatch(Array.from({ length: 8 }, () => ({ plaintext, subscription: keys })))[7];
      assert.deepEqual(Buffer.from(decryptPushMessage(body as Uint8Array, keys)), plaintext);
    },
  );
}

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

const codeOf = (way: Encrypt, p256dh: Uint8Array, auth: Uint8Array): string => {
  try {
    return `${way(plaintext, { p256dh, auth }).length} bytes`;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test('whatever stands in for p256dh, it answers as the builtin way does', { skip }, () => {
  const { encrypt } = native();
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

test('in a batch of any size each message is read by its own receiver only', { skip }, () => {
  for (const method of methods) {
    const { encryptBatch } = native(method);
    for (let count = 0; count <= 70; count += 1) {
      const messages = Array.from({ length: count }, (_, index) => ({
        plaintext: Buffer.alloc((index * 131) % (maxPlaintextBytes + 1), index),
        subscription: generateUserAgentKeys(),
      }));
      const bodies = encryptBatch(messages);
      assert.equal(bodies.length, count);
      for (const [index, body] of bodies.entries()) {
        assert.ok(body instanceof Uint8Array);
        const { plaintext: text, subscription } = messages[index]!;
        assert.deepEqual(Buffer.from(decryptPushMessage(body, subscription)), text);
      }
      if (count > 1) {
        assert.throws(() => decryptPushMessage(bodies[0] as Uint8Array, messages[1]!.subscription));
      }
    }
  }
});

test('several workers use it at the same time, and their ends disturb nobody', { skip }, async () => {
  const { encrypt } = native();
  const loader = new URL('../../src/accelerator/load-accelerator.ts', import.meta.url).href;
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.loader).then(({ loadAccelerator }) => {
      const { method, encryptBatch } = loadAccelerator({ file: workerData.file, cacheFolder: workerData.cacheFolder });
      const bodies = [];
      const message = { plaintext: workerData.plaintext, subscription: workerData.keys };
      for (let count = 0; count < 300; count += 25) bodies.push(...encryptBatch(Array(25).fill(message)));
      parentPort.postMessage({ method, bodies: bodies.map((body) => Uint8Array.from(body)) });
    });`;
  const publicKeys = new Set<string>();
  for (let round = 0; round < 2; round += 1) {
    const workers = Array.from(
      { length: 4 },
      () => new Worker(code, { eval: true, workerData: { loader, file, cacheFolder, plaintext, keys } }),
    );
    const answers = await Promise.all(
      workers.map(
        (worker) =>
          new Promise<{ method: string; bodies: Uint8Array[] }>((resolve, reject) => {
            worker.once('message', resolve).once('error', reject);
          }),
      ),
    );
    for (const { method, bodies } of answers) {
      assert.notEqual(method, 'builtin');
      for (const body of bodies) {
        assert.deepEqual(Buffer.from(decryptPushMessage(body, keys)), plaintext);
        publicKeys.add(Buffer.from(body).toString('hex', 21, 86));
      }
    }
    await Promise.all(workers.map((worker) => worker.terminate()));
    assert.deepEqual(Buffer.from(decryptPushMessage(encrypt(plaintext, keys), keys)), plaintext);
  }
  assert.equal(publicKeys.size, 2 * 4 * 300);
});

test('it keeps no memory per message', { skip }, () => {
  const { addon, encrypt } = native();
  const faulty = { ...keys, p256dh: Buffer.alloc(65, 1).fill(4, 0, 1) };
  const use = (messages: number): void => {
    for (let count = 0; count < messages; count += 1) {
      encrypt(plaintext, keys);
      if (count % 10 === 0) assert.throws(() => encrypt(plaintext, faulty));
    }
    addon.runEcOperations(messages / 10, true);
  };
  use(5000);
  const before = process.memoryUsage.rss();
  use(30_000);
  const grownBytes = process.memoryUsage.rss() - before;
  // A leaked key would have some 1000 bytes: 30 MB.
  assert.ok(grownBytes < 15_000_000, `grown by ${grownBytes} bytes`);
});

test('an addon that crashes ends the process that checks it, not this one', { skip }, () => {
  const source = join(folder, 'crashing.c');
  const crashing = join(folder, 'crashing.node');
  writeFileSync(source, '__attribute__((constructor)) static void crash(void) { __builtin_trap(); }\n');
  execFileSync('cc', ['-shared', '-fPIC', source, '-o', crashing]);
  const { method, reason } = loadAccelerator({ file: crashing, cacheFolder });
  assert.equal(method, 'builtin');
  assert.match(reason!, /the check ended with SIG(?:ILL|TRAP)/);
});

test('a verdict is remembered for the file as it is', { skip }, () => {
  const ownCache = join(folder, 'own-cache');
  const copies = ['one', 'other'].map((name) => {
    const copy = join(folder, `${name}.node`);
    writeFileSync(copy, Buffer.concat([readFileSync(file), Buffer.from(name)]));
    assert.notEqual(loadAccelerator({ file: copy, cacheFolder: ownCache }).method, 'builtin');
    return copy;
  });
  const verdicts = readdirSync(ownCache).map((name) => join(ownCache, name));
  assert.deepEqual(
    verdicts.map((path) => readFileSync(path, 'utf8')),
    ['passed', 'passed'],
  );

  const loader = new URL('../../src/accelerator/load-accelerator.ts', import.meta.url).href;
  const code = `const { loadAccelerator } = await import(process.argv[1]);
    process.stdout.write(String(loadAccelerator({ file: process.argv[2], cacheFolder: process.argv[3] }).reason));`;
  const words = ['--input-type=module', '-e', code, loader, copies[0]!, ownCache];
  const reasonAfter = (verdict: string): string => {
    for (const path of verdicts) writeFileSync(path, verdict);
    return execFileSync(process.execPath, words, { encoding: 'utf8' });
  };
  assert.match(reasonAfter('it was seen before'), /it was seen before/);
  // as a full disk may have left it
  assert.doesNotMatch(reasonAfter(''), /failed its check/);
  assert.deepEqual(verdicts.map((path) => readFileSync(path, 'utf8')).toSorted(), ['', 'passed']);
});

test('a cache that cannot be written to does not matter', { skip }, () => {
  const occupied = join(folder, 'occupied');
  writeFileSync(occupied, '');
  assert.notEqual(loadAccelerator({ file, cacheFolder: occupied }).method, 'builtin');
});
