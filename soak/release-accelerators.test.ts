// The accelerators of a release: built twice, and each taken, checked and loaded by a Node of its own platform. Arm64 runs
// in QEMU, musl on its own loader.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';

import { releasePlatforms } from '../scripts/accelerator/compile.ts';
import { emulation, tryAccelerator } from '../scripts/accelerator/other-machines.ts';
import { buildRelease } from '../scripts/build-accelerator.ts';
import { findReleaseFaults } from '../scripts/check-release.ts';
import { compiler, install } from '../scripts/install-test-tools.ts';
import { describePlatform } from '../src/accelerator/addon.ts';

const purpose = 'the accelerators of other machines';
const isPossible =
  describePlatform() === 'linux-x64-glibc' && (await install(purpose, [...emulation, compiler]));
const skip = isPossible ? false : 'They are built and tried on linux-x64 with Debian’s packages.';

suite(purpose, { skip }, () => {
  let folder: string;
  let prebuilds: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-release-'));
    prebuilds = join(folder, 'prebuilds');
    buildRelease(prebuilds);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('the same sources give the same bytes', () => {
    const again = join(folder, 'again');
    buildRelease(again);
    const files = globSync('*/*', { cwd: prebuilds }).sort();
    assert.deepEqual(globSync('*/*', { cwd: again }).sort(), files);
    for (const file of files) {
      assert.ok(readFileSync(join(prebuilds, file)).equals(readFileSync(join(again, file))), file);
    }
  });

  test('Node finds the two names that it looks for, and nothing of what is linked in', () => {
    for (const file of globSync('*/*.node', { cwd: prebuilds })) {
      const words = ['--dynamic', '--defined-only', '--format=posix', join(prebuilds, file)];
      const names = execFileSync('nm', words, { encoding: 'utf8' }).trim().split('\n');
      assert.deepEqual(
        names.map((line) => line.split(/[ @]/, 1)[0]).sort(),
        ['napi_register_module_v1', 'node_api_module_get_api_version_v1'],
        file,
      );
    }
  });

  for (const platform of releasePlatforms) {
    test(`Node on ${platform} takes its own, which passes its check`, (t) => {
      const trial = tryAccelerator(platform, prebuilds);
      t.diagnostic(`Node ${trial.node}: ${trial.method}`);
      assert.equal(trial.platform, platform);
      // whether there are eight lanes is a matter of the processor
      const wanted = platform.startsWith('linux-x64')
        ? tryAccelerator('linux-x64-glibc', prebuilds).method
        : 'openssl';
      assert.deepEqual([trial.method, trial.reason], [wanted, undefined]);
      assert.notEqual(trial.method, 'builtin');
    });
  }

  test('a release has them all', () => {
    const method = 'openssl';
    const attempt = (platform: string) => ({ platform, node: '', method }) as const;
    assert.deepEqual(findReleaseFaults(prebuilds, attempt), []);
  });
});
