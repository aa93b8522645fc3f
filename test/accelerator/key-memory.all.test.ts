// What a message leaves behind in memory. The example of RFC 8291 is encrypted in a process of its own; this one, which
// knows the intermediate values of appendix A, looks for them in the memory of the other.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { findOrFetchHeaders } from '../../scripts/accelerator/inputs.ts';
import { buildAccelerator } from '../../scripts/build-accelerator.ts';
import { compiler, skipWithout } from '../../scripts/install-test-tools.ts';
import { order, portable } from './lanes.ts';

const folder = mkdtempSync(join(tmpdir(), 'deskbell-key-memory-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const skip =
  process.platform === 'linux'
    ? skipWithout('the accelerator', [compiler])
    : 'The memory of another process is read by way of /proc.';

const body = 'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7';
/** RFC 8291 appendix A, in the order in which they are derived. */
const secrets = {
  ecdh_secret: 'kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs',
  PRK_key: 'Snr3JMxaHVDXHWJn5wdC52WjpCtd2EIEGBykDcZW32k',
  IKM: 'S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg',
  PRK: '09_eUZGrsvxChDCGRCdkLiDXrReGOEVeSCdCcPBSJSE',
  CEK: 'oIhVW04MRdy2XN9CiKLxTg',
  NONCE: '4h_95klXJ5E_qnoN',
};

const privateKey = 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw';
const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;

/** The lowest digit of a number as the lanes keep it for eight equal messages, in base64url. */
function inLanes(value: bigint, bits: number): string {
  const digit = Buffer.alloc(8);
  digit.writeBigUInt64LE(BigInt.asUintN(bits, value));
  return Buffer.concat(Array.from({ length: 8 }, () => digit)).toString('base64url');
}

const asNumber = (value: string): bigint => BigInt(`0x${Buffer.from(value, 'base64url').toString('hex')}`);
const secretPoint = asNumber(secrets.ecdh_secret);
const lanes = {
  // of private key and order minus private key the odd one, halved
  'private key in lanes': inLanes((order - asNumber(privateKey)) >> 1n, 64),
  'ecdh_secret in lanes': inLanes(secretPoint, 52),
  'ecdh_secret in lanes, in Montgomery form': inLanes((secretPoint << 260n) % prime, 52),
};

test('no key of a message is in memory once it is encrypted', { skip }, async (t) => {
  const file = join(folder, 'accelerator.node');
  // with lanes on any machine
  buildAccelerator(file, findOrFetchHeaders(), [portable]);
  for (const method of ['multi-buffer', 'openssl']) {
    const child = fork(join(import.meta.dirname, 'vector-process.ts'), [file, method]);
    t.after(() => child.kill());
    await once(child, 'message');
    const found = findInMemory(child, { body, ...secrets, ...lanes });
    assert.ok(found.includes('body'), 'the memory that is searched holds the message itself');
    assert.deepEqual(
      found.filter((name) => name !== 'body'),
      [],
      method,
    );
  }
});

/** The names of those values (base64url) that stand somewhere in the writable memory of a process. */
function findInMemory({ pid }: ChildProcess, values: Readonly<Record<string, string>>): readonly string[] {
  const found = new Set<string>();
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
    const [, start = '', end = ''] = /^([\da-f]+)-([\da-f]+) rw/.exec(line) ?? [];
    const region = start === '' ? undefined : readRegion(memory, BigInt(`0x${start}`), BigInt(`0x${end}`));
    if (region === undefined) continue;
    for (const [name, value] of Object.entries(values)) {
      if (region.includes(Buffer.from(value, 'base64url'))) found.add(name);
    }
  }
  closeSync(memory);
  return [...found].sort();
}

/** `undefined` for a region that the kernel does not show. */
function readRegion(memory: number, start: bigint, end: bigint): Buffer | undefined {
  const region = Buffer.alloc(Number(end - start));
  try {
    readSync(memory, region, { position: start });
    return region;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') return undefined;
    throw error;
  }
}
