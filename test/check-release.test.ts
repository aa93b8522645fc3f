import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { findReleaseFaults } from '../scripts/check-release.ts';

test('nothing is published without the accelerator, its library, or with a file that is none', (t) => {
  const prebuilds = mkdtempSync(join(tmpdir(), 'deskbell-release-'));
  t.after(() => rmSync(prebuilds, { recursive: true }));
  const addon = join(prebuilds, 'linux-x64/accelerator-openssl3.node');
  const faults = () => findReleaseFaults(prebuilds, addon);
  assert.match(faults().join('\n'), /accelerator-openssl3\.node is missing.*\n.*crypto_mb\.txt is missing/);
  mkdirSync(join(prebuilds, 'linux-x64'));
  writeFileSync(join(prebuilds, 'linux-x64/LICENSE.crypto_mb.txt'), 'licence');
  assert.deepEqual(faults().length, 1);
  writeFileSync(addon, 'no addon');
  assert.match(faults().join('\n'), /^Encrypting with Node's builtins: .*failed its check/);
});
