// The accelerator as it is built here: what it encrypts, what it refuses, and what happens where there is none, or where it is not
// what it should be. accelerator.all.test.ts has what takes longer.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createECDH, type ECDH } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { Addon } from '../../src/accelerator/addon.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import { findFault } from '../../src/accelerator/self-check.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { maxPlaintextBytes } from '../../src/protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { cacheFolder, file, folder, keys, methods, native, plaintext, skip } from './native.ts';

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
    { numRuns: 100 },
  );
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
    for (const place of [0, 8, 18]) {
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
