// P-256 in lanes, on any machine: its bounds by intervals, and the same arithmetic in plain C against OpenSSL. accelerator.test.ts tests
// the lanes of this machine's processor, soak/lanes.test.ts those of a release on an emulated one.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

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
import { folder, skip } from './native.ts';

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

test('in plain C they agree with OpenSSL, on edges, exceptions and what is no point too', { skip }, () => {
  const addon = buildPortable(join(folder, 'portable.node'), ['-O1']);
  const points = edgeScalars.map(pointOf);
  const edges = [0, 1, 17].flatMap((shift) =>
    edgeScalars.map((scalar, index) => ({
      privateKey: toBytes(scalar),
      peer: points[(index + shift) % points.length]!,
    })),
  );
  const refused = badPoints.map((peer): Pair => ({ privateKey: toBytes(9n), peer }));
  const random = Array.from({ length: 1024 - edges.length - refused.length }, randomPair);
  const pairs = [...edges, ...refused, ...random];
  for (let start = 0; start < pairs.length; start += 64) {
    assert.deepEqual(findDifferences(addon, pairs.slice(start, start + 64)), [], `from ${start}`);
  }
});
