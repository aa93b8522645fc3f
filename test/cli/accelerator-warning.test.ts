// The warning about a missing accelerator: once, and only for a broadcast that is large enough to matter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import { createAcceleratorWarning } from '../../src/cli/accelerator-warning.ts';

test('a small broadcast gives no warning, large ones give one', () => {
  const warnings: string[] = [];
  const warnFor = createAcceleratorWarning(
    (text) => warnings.push(text),
    () => loadAccelerator({ file: '/nowhere/accelerator.node' }),
  );
  warnFor({ audience: 9999 });
  assert.deepEqual(warnings, []);
  warnFor({ audience: 10_000 });
  warnFor({ audience: 1_000_000 });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /npm run build:accelerator/);
});

test('with the accelerator there is none', () => {
  const warnings: string[] = [];
  createAcceleratorWarning(
    (text) => warnings.push(text),
    () => ({}),
  )({ audience: 1_000_000 });
  assert.deepEqual(warnings, []);
});
