// Which programs are there for the tests, and what is said where they are not.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { find, firefox, skipWithout } from '../scripts/install-test-tools.ts';

test('a browser that is too old is named with its version, and a newer one beside it is taken', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-tools-'));
  const { PATH: path, CI: ci } = process.env;
  t.after(() => {
    Object.assign(process.env, { PATH: path }, ci === undefined ? {} : { CI: ci });
    rmSync(folder, { recursive: true });
  });
  const install = (name: string, version: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\necho "Mozilla Firefox ${version}"\n`, { mode: 0o755 });
  process.env['PATH'] = folder;
  delete process.env['CI'];

  install('firefox-esr', '140.5.0esr');
  const old = join(folder, 'firefox-esr');
  assert.equal(find(firefox), undefined);
  assert.equal(
    skipWithout('the Firefox tests', [firefox]),
    `For the Firefox tests, install firefox-esr (on Debian: sudo apt-get install firefox-esr). ${old} is version 140; ` +
      `${firefox.leastVersion} or newer is needed.`,
  );
  process.env['CI'] = 'true';
  assert.throws(() => skipWithout('the Firefox tests', [firefox]), /is version 140/);

  process.env['PATH'] = [folder, '/nowhere'].join(delimiter);
  install('firefox', `${firefox.leastVersion}.0`);
  assert.equal(find(firefox), join(folder, 'firefox'));
  assert.equal(skipWithout('the Firefox tests', [firefox]), false);
});
