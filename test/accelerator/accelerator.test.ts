// The accelerator, built here where there is a C compiler and Node's headers; and what happens where there is none,
// or where it is not what it should be.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createECDH, type ECDH } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';

import * as fc from 'fast-check';

import { findOrFetchHeaders, findOrFetchLibrary } from '../../scripts/accelerator/inputs.ts';
import { buildAccelerator } from '../../scripts/build-accelerator.ts';
import { compiler, skipWithout } from '../../scripts/install-test-tools.ts';
import { createAddonEncryptBatch, type Addon } from '../../src/accelerator/addon.ts';
import type { EncryptionMethod } from '../../src/accelerator/encryption-methods.ts';
import { loadAccelerator, type Accelerator } from '../../src/accelerator/load-accelerator.ts';
import { findFault } from '../../src/accelerator/self-check.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createEncrypter, maxPlaintextBytes, type Encrypt } from '../../src/protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

const folder = mkdtempSync(join(tmpdir(), 'deskbell-accelerator-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'accelerator.node');
const cacheFolder = join(folder, 'cache');
const skip = skipWithout('the accelerator', [compiler]);

const loaded = new Map<EncryptionMethod, Accelerator>();
/** Loaded once, by the first test that needs it. */
function native(
  fastest: EncryptionMethod = 'multi-buffer',
): Accelerator & { readonly addon: Addon; readonly encrypt: Encrypt } {
  let accelerator = loaded.get(fastest);
  if (accelerator === undefined) {
    accelerator = loadAccelerator({ file, fastest, cacheFolder });
    loaded.set(fastest, accelerator);
  }
  const { addon } = accelerator;
  assert.ok(addon, accelerator.reason ?? '');
  const encrypt: Encrypt = (text, subscription) => {
    const [result] = accelerator.encryptBatch([{ plaintext: text, subscription }]);
    if (result instanceof Uint8Array) return result;
    throw result!;
  };
  return { ...accelerator, addon, encrypt };
}
/** What this machine offers: where the processor lacks the instructions, both are OpenSSL. */
const methods = ['multi-buffer', 'openssl'] as const;
const keys = generateUserAgentKeys();
const builtin = createEncrypter();
const plaintext = Buffer.from('{"title":"t","message":"m"}');

test('it builds without a warning, passes its check and is chosen', { skip }, () => {
  const library = findOrFetchLibrary();
  buildAccelerator(file, findOrFetchHeaders(), library);
  const { method } = loadAccelerator({ file, cacheFolder });
  assert.notEqual(method, 'builtin');
  assert.equal(loadAccelerator({ file, cacheFolder, fastest: 'openssl' }).method, 'openssl');
});

test('the same sources give the same bytes', { skip }, () => {
  const again = join(folder, 'again.node');
  buildAccelerator(again, findOrFetchHeaders(), findOrFetchLibrary());
  assert.ok(readFileSync(file).equals(readFileSync(again)));
});

for (const [what, replacement] of [
  ['lacks a lane function', 'missing_function'],
  ['has a lane function with other results', 'ifma_tomont52_p256_mb8'],
] as const) {
  test(`where the library ${what}, it is built without them`, { skip }, (t) => {
    const library = findOrFetchLibrary();
    if (library === undefined) return t.skip('There is no multi-buffer library for this machine.');
    const other = join(folder, 'without-lane-functions.node');
    const method = buildAccelerator(other, findOrFetchHeaders(), library, [
      `-Difma_aminv52_p256_mb8=${replacement}`,
    ]);
    assert.equal(method, native().method);
    const loadedOther = loadAccelerator({ file: other, cacheFolder });
    const body = loadedOther.encryptBatch([{ plaintext, subscription: keys }])[0];
    assert.deepEqual(Buffer.from(decryptPushMessage(body as Uint8Array, keys)), plaintext);
  });
}

test('memory that a getter among the plaintexts takes away is not touched', { skip }, () => {
  // in a process of its own: the fault would end it
  const script = `
    const { randomBytes, createECDH } = require('node:crypto');
    const { encryptBatch } = require(process.argv[1]);
    const point = createECDH('prime256v1').generateKeys();
    const overhead = 103, far = 1 << 20;
    for (const taken of ['bodies', 'plaintext', 'keys', 'fixed']) {
      for (const place of [0, 1, 2]) {
        const owners = {};
        const make = (name, bytes) => {
          owners[name] = new ArrayBuffer(2 * far, { maxByteLength: 2 * far });
          const array = new Uint8Array(owners[name], far, bytes.length);
          array.set(bytes);
          return array;
        };
        const texts = [0, 1, 2].map((index) => make(index === (place + 1) % 3 ? 'plaintext' : 'text' + index, Buffer.from('text')));
        const bodies = make('bodies', Buffer.alloc(3 * (4 + overhead)));
        const keys = make('keys', Buffer.concat([0, 1, 2].flatMap(() => [point, randomBytes(16)])));
        const fixed = make('fixed', Buffer.concat([0, 1, 2].flatMap(() => [randomBytes(16), Buffer.alloc(32, 7)])));
        const plaintexts = [...texts];
        Object.defineProperty(plaintexts, place, { get: () => (owners[taken].resize(0), texts[place]) });
        try {
          encryptBatch(bodies, plaintexts, keys, true, fixed);
          console.log('encrypted');
        } catch (error) {
          console.log(error.constructor.name);
        }
      }
    }
  `;
  const { status, signal, stdout } = spawnSync(process.execPath, ['-e', script, file], { encoding: 'utf8' });
  assert.deepEqual([status, signal], [0, null]);
  assert.deepEqual(stdout.trim().split('\n'), Array(12).fill('RangeError'));
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

test('a message that cannot be encrypted, at any place, leaves the others as they are', { skip }, () => {
  const offCurve = Buffer.from(keys.p256dh);
  offCurve[64]! ^= 1;
  const unfit = [
    { plaintext, subscription: { ...keys, p256dh: offCurve } },
    { plaintext, subscription: { ...keys, p256dh: Buffer.alloc(65, 0xff).fill(4, 0, 1) } },
    { plaintext, subscription: { ...keys, p256dh: keys.p256dh.subarray(1) } },
    { plaintext, subscription: { ...keys, auth: keys.auth.subarray(1) } },
    { plaintext: Buffer.alloc(maxPlaintextBytes + 1), subscription: keys },
  ];
  for (const method of methods) {
    const { encryptBatch } = native(method);
    for (let place = 0; place < 19; place += 1) {
      for (const message of unfit) {
        const messages = Array.from({ length: 19 }, () => ({ plaintext, subscription: keys }));
        messages[place] = message;
        for (const [index, body] of encryptBatch(messages).entries()) {
          if (index === place) {
            assert.ok(body instanceof DeskbellError);
            assert.match(body.code, /^ERR_(?:SUBSCRIPTION_KEY_INVALID|PAYLOAD_TOO_LARGE)$/);
          } else {
            assert.deepEqual(Buffer.from(decryptPushMessage(body as Uint8Array, keys)), plaintext);
          }
        }
      }
    }
  }
});

test('wrong arguments are exceptions, never a crash, and disturb nothing', { skip }, () => {
  const { addon, encrypt } = native();
  const call = addon.encryptBatch as (...values: unknown[]) => unknown;
  const body = new Uint8Array(plaintext.length + 103);
  const both = Buffer.concat([keys.p256dh, keys.auth]);
  const detached = new Uint8Array(plaintext.length + 103);
  structuredClone(detached, { transfer: [detached.buffer] });

  for (const values of [
    [],
    [body],
    [body, [plaintext], both],
    [undefined, undefined, undefined, undefined],
    [null, [plaintext], both, true],
    [body, plaintext, both, true],
    [body, ['text'], both, true],
    [body, [1], both, true],
    [body, [undefined], both, true],
    [body, { length: 1, 0: plaintext }, both, true],
    [body, [plaintext], {}, true],
    [body, [plaintext], [...both], true],
    [body, [plaintext], both.buffer, true],
    [body, [plaintext], new Uint16Array(81), true],
    [new DataView(body.buffer), [plaintext], both, true],
    [new Float64Array(body.length), [plaintext], both, true],
    [body, [plaintext], both, 1],
    [body, [plaintext], both, undefined],
    [body, [plaintext], both, true, undefined],
    [body, [plaintext], both, true, 'fixed'],
    [body, [plaintext], Symbol('keys'), true],
    [body, [plaintext], 1n, true],
    [new Proxy(body, {}), [plaintext], both, true],
  ]) {
    assert.throws(() => call(...values), TypeError, String(values.length));
  }
  const tooMany = Array<Buffer>(65).fill(plaintext);
  for (const values of [
    [body, [], new Uint8Array(0), true],
    [new Uint8Array(0), [plaintext], both, true],
    [new Uint8Array(body.length - 1), [plaintext], both, true],
    [new Uint8Array(body.length + 1), [plaintext], both, true],
    [new Uint8Array(2 * body.length), [plaintext, plaintext], both, true],
    [new Uint8Array(65 * body.length), tooMany, new Uint8Array(65 * 81), true],
    [new Uint8Array(5000), [new Uint8Array(5000 - 103)], both, true],
    [body, [plaintext], both.subarray(1), true],
    [body, [plaintext], both, true, new Uint8Array(47)],
    [body, [plaintext], both, true, new Uint8Array(49)],
    [body, [plaintext], both, true, Buffer.alloc(48)], // private keys of 0 and beyond the order
    [body, [plaintext], both, true, Buffer.alloc(48, 0xff)],
    [detached, [plaintext], both, true],
    [body, [plaintext], detached, true],
    // memory that would be written and read at the same time
    [body, [body.subarray(0, plaintext.length)], both, true],
    [body, [plaintext], body.subarray(0, 81), true],
    [body, [plaintext], both, true, body.subarray(0, 48)],
  ]) {
    assert.throws(() => call(...values), RangeError);
  }
  const limit = addon.runEcOperations as (...values: unknown[]) => void;
  for (const values of [[], ['many', true], [1], [1, 1], [Symbol('one'), true]]) {
    assert.throws(() => limit(...values), TypeError);
  }
  for (const messages of [
    -1,
    0,
    0.5,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1_000_001,
    2 ** 32,
    2 ** 53,
  ]) {
    assert.throws(() => limit(messages, true), RangeError, String(messages));
  }
  createECDH('prime256v1').generateKeys();
  assert.deepEqual(Buffer.from(decryptPushMessage(encrypt(plaintext, keys), keys)), plaintext);
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

test('where it is not built, the builtin method is taken and a reason given', () => {
  const accelerator = loadAccelerator({ file: join(folder, 'not-built.node') });
  assert.equal(accelerator.method, 'builtin');
  assert.match(accelerator.reason!, /^Encrypting with Node's builtins: .*npm run build:accelerator.*\.$/);
  const [body, fault] = accelerator.encryptBatch([
    { plaintext, subscription: keys },
    { plaintext, subscription: { ...keys, p256dh: Buffer.alloc(65, 4) } },
  ]);
  assert.deepEqual(Buffer.from(decryptPushMessage(body as Uint8Array, keys)), plaintext);
  assert.ok(fault instanceof DeskbellError);
});

test('a file that is no addon is not chosen, and the reason is one line', () => {
  const broken = join(folder, 'broken.node');
  writeFileSync(broken, 'not a library\n');
  const { method, reason } = loadAccelerator({ file: broken, cacheFolder });
  assert.equal(method, 'builtin');
  assert.match(reason!, /cannot be loaded/);
  assert.ok(!reason!.includes('\n'));
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

  for (const path of verdicts) writeFileSync(path, 'it was seen before');
  const loader = new URL('../../src/accelerator/load-accelerator.ts', import.meta.url).href;
  const code = `const { loadAccelerator } = await import(process.argv[1]);
    process.stdout.write(loadAccelerator({ file: process.argv[2], cacheFolder: process.argv[3] }).reason);`;
  const words = ['--input-type=module', '-e', code, loader, copies[0]!, ownCache];
  assert.match(execFileSync(process.execPath, words, { encoding: 'utf8' }), /it was seen before/);
});

test('a cache that cannot be written to does not matter', { skip }, () => {
  const occupied = join(folder, 'occupied');
  writeFileSync(occupied, '');
  assert.notEqual(loadAccelerator({ file, cacheFolder: occupied }).method, 'builtin');
});

// Addons with one thing wrong each, around the real one: the check must find it.
const honest: Addon = {
  encryptBatch: (...given) => native().addon.encryptBatch(...given),
  hasMultiBuffer: () => native().addon.hasMultiBuffer(),
  runEcOperations: (...given) => native().addon.runEcOperations(...given),
};
const onePair = Buffer.concat([Buffer.alloc(16), keys.privateKey]);
const wrong: readonly [string, Partial<Addon>, RegExp][] = [
  [
    'that changes one byte',
    {
      encryptBatch: (...given) => {
        const refused = honest.encryptBatch(...given);
        given[0][90]! ^= 1;
        return refused;
      },
    },
    /RFC 8291/,
  ],
  [
    'that is wrong for long messages only',
    {
      encryptBatch: (...given) => {
        const refused = honest.encryptBatch(...given);
        if (given[1].at(-1)!.length > 3000) given[0][given[0].length - 100]! ^= 1;
        return refused;
      },
    },
    /it failed: A record was changed/,
  ],
  [
    'that uses a key pair again',
    {
      encryptBatch: (bodies, texts, both, usesMultiBuffer, fixed) =>
        honest.encryptBatch(
          bodies,
          texts,
          both,
          usesMultiBuffer,
          fixed ?? Buffer.concat(texts.map(() => onePair)),
        ),
    },
    /a key pair or a salt twice/,
  ],
  [
    'that takes any point',
    {
      encryptBatch: (...given) => {
        honest.encryptBatch(...given);
        return undefined;
      },
    },
    /takes a point off the curve/,
  ],
  ['that takes no point', { encryptBatch: (_, texts) => texts.map((__, index) => index) }, /RFC 8291/],
  ['that does nothing', { encryptBatch: () => undefined }, /RFC 8291/],
  [
    'whose multi-buffer method swaps two messages',
    {
      hasMultiBuffer: () => true,
      encryptBatch: (bodies, texts, both, usesMultiBuffer, fixed) => {
        if (!usesMultiBuffer || texts.length < 2 || fixed !== undefined) {
          return fixed === undefined
            ? honest.encryptBatch(bodies, texts, both, false)
            : honest.encryptBatch(bodies, texts, both, false, fixed);
        }
        const swapped = Buffer.concat([both.subarray(81, 162), both.subarray(0, 81), both.subarray(162)]);
        return honest.encryptBatch(bodies, texts, swapped, false);
      },
    },
    /it failed: A record was changed/,
  ],
  ['without its functions', { hasMultiBuffer: undefined as never }, /it failed/],
];

for (const [what, addon, fault] of wrong) {
  test(`an addon ${what} does not pass the check`, { skip }, () => {
    assert.match(findFault({ ...honest, ...addon } as Addon) ?? 'no fault found', fault);
  });
}

test('an addon that is right passes the check', { skip }, () => assert.equal(findFault(honest), undefined));

test('it takes the same lengths as the builtin method', { skip }, () => {
  const { addon } = native();
  const encryptBatch = createAddonEncryptBatch({ addon, usesMultiBuffer: false });
  for (const length of [0, 1, maxPlaintextBytes]) {
    const text = new Uint8Array(length);
    const [body] = encryptBatch([{ plaintext: text, subscription: keys }]);
    assert.equal((body as Uint8Array).length, builtin(text, keys).length);
  }
});
