// Calls the addon named on the command line with its own check's arguments, and with random ones.
import { randomBytes, randomInt } from 'node:crypto';
import { createRequire } from 'node:module';

import type { Addon } from '../src/accelerator/addon.ts';
import { findFault } from '../src/accelerator/self-check.ts';
import { edgeScalars, findDifferences, patternedPair, pointOf, toBytes } from '../test/accelerator/lanes.ts';

const calls = 20_000;
const rounds = 200;
const addon = createRequire(import.meta.url)(process.argv[2]!) as Addon;
const call = addon.encryptBatch as (...values: unknown[]) => unknown;

const bytes = (): Uint8Array => randomBytes(randomInt(200));
const kinds: readonly (() => unknown)[] = [
  bytes,
  () => [bytes()],
  () => Array.from({ length: randomInt(70) }, () => randomBytes(randomInt(4100))),
  () => new Uint16Array(randomInt(200)),
  () => new DataView(new ArrayBuffer(randomInt(200))),
  () => undefined,
  () => true,
  () => randomInt(200),
  () => 'text',
  () => Symbol('symbol'),
];

/** Arguments of the right types, random in all else: points off the curve, private keys out of range. One may have the
 *  wrong length. */
function nearlyFitting(): readonly unknown[] {
  const plaintexts = Array.from({ length: randomInt(1, 66) }, () => randomBytes(randomInt(3994)));
  const wrong = randomInt(6);
  const ofLength = (wanted: number, place: number): Buffer =>
    Buffer.alloc(Math.max(0, wanted + (place === wrong ? randomInt(-64, 65) : 0)), randomInt(256));
  const bodiesBytes = plaintexts.reduce((sum, { length }) => sum + length + 103, 0);
  if (wrong === 0) plaintexts.push(randomBytes(randomInt(3990, 4010)));
  const fixed = randomInt(2) === 0 ? [] : [ofLength(48 * plaintexts.length, 1)];
  const keys = ofLength(81 * plaintexts.length, 2);
  return [ofLength(bodiesBytes, 3), plaintexts, keys, randomInt(2) === 0, ...fixed];
}

const fault = findFault(addon);
for (let count = 0; count < calls; count += 1) {
  const values =
    count % 10 === 0
      ? nearlyFitting()
      : Array.from({ length: randomInt(7) }, () => kinds[randomInt(kinds.length)]!());
  try {
    call(...values);
  } catch {
    // most of them are refused
  }
}
// keys and points of long runs of equal bits, and such ones as no random test meets
const edges = edgeScalars.map((scalar) => ({ privateKey: toBytes(scalar), peer: pointOf(scalar) }));
for (let count = 0; count < rounds; count += 1) {
  const pairs = Array.from({ length: randomInt(1, 65) }, () =>
    randomInt(4) === 0 ? edges[randomInt(edges.length)]! : patternedPair(),
  );
  if (findDifferences(addon, pairs).length > 0) throw new Error('the lanes differ from OpenSSL');
}
for (const usesMultiBuffer of [true, false]) addon.runEcOperations(100, usesMultiBuffer);
process.stdout.write(fault ?? `passed, ${calls} calls\n`);
