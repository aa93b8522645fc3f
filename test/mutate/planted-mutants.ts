// Shows that mutation testing works: `npm run mutate` expects this test to kill every mutant of tested.ts, and none of
// untested.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isWithin } from './tested.ts';
import { sumOf } from './untested.ts';

test('numbers from the least to the greatest are within', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((value) => isWithin(value, 2, 4)),
    [false, true, true, true, false],
  );
});

test('numbers can be added', () => {
  sumOf(1, 2);
});
