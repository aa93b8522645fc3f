// P-256 in lanes: its bounds by intervals, and its results against OpenSSL's, in plain C on any machine, and with the instructions of this
// machine's processor if it has them. soak/lanes.test.ts tests a release on an emulated processor.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import type { Addon } from '../../src/accelerator/addon.ts';
import {
  badPoints,
  buildPortable,
  checkBounds,
  edgeScalars,
  findDifferences,
  type Pair,
  pointOf,
  randomPair,
  toBytes,
} from './lanes.ts';
import { folder, native, skip } from './native.ts';

test('no value leaves the bound that its line gives, and none overflows', { skip }, () => {
  assert.ok(checkBounds(folder) >= 40);
  const wrong = '// z^2, < 1.38 p';
  assert.throws(() => checkBounds(folder, ['// z^2, < 1.39 p', wrong]), /line \d+: .*leaves the bound/s);
  const fewerPrimes = 'sub(s, q.w), 6));';
  assert.throws(
    () => checkBounds(folder, [/sub\(s, q\.w\), 7\)\);.*/, fewerPrimes]),
    /a factor may be negative/,
  );
});

test('they agree with OpenSSL, on edges, exceptions and what is no point too', { skip }, () => {
  const points = edgeScalars.map(pointOf);
  const edges = [0, 1, 17].flatMap((shift) =>
    edgeScalars.map((scalar, index) => ({
      privateKey: toBytes(scalar),
      peer: points[(index + shift) % points.length]!,
    })),
  );
  const refused = badPoints.map((peer): Pair => ({ privateKey: toBytes(9n), peer }));
  const agree = (addon: Addon, count: number): void => {
    const random = Array.from({ length: count - edges.length - refused.length }, randomPair);
    const pairs = [...edges, ...refused, ...random];
    for (let start = 0; start < pairs.length; start += 64) {
      assert.deepEqual(findDifferences(addon, pairs.slice(start, start + 64)), [], `from ${start}`);
    }
  };
  agree(buildPortable(join(folder, 'portable.node'), ['-O1']), 1024);
  const { addon } = native();
  if (addon.hasMultiBuffer()) agree(addon, 10_240);
});
