import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { tryAccelerator } from '../scripts/accelerator/other-machines.ts';
import { findReleaseFaults } from '../scripts/check-release.ts';
import { addonName, describePlatform } from '../src/accelerator/addon.ts';

const name = addonName();
const wanted = [
  `linux-x64-glibc/${name}`,
  'linux-x64-glibc/LICENSE.crypto_mb.txt',
  `linux-x64-musl/${name}`,
  'linux-x64-musl/LICENSE.crypto_mb.txt',
  `linux-arm64-glibc/${name}`,
  `linux-arm64-musl/${name}`,
];

const load = (platform: string) => ({ platform, node: 'v26.10.0', method: 'openssl' }) as const;

test('a release has the accelerator of each platform, with its library’s licence, and nothing else', (t) => {
  const prebuilds = makeFolder(t);
  const faults = (): readonly string[] => findReleaseFaults(prebuilds, load);
  for (const file of wanted) {
    assert.ok(
      faults().includes(`prebuilds/${file} is missing: "npm run build:accelerator -- --release" makes it.`),
    );
    write(prebuilds, file);
  }
  assert.deepEqual(faults(), []);
  write(prebuilds, `linux-x64/${name}`);
  assert.deepEqual(faults(), [`prebuilds/linux-x64/${name} is not part of a release: remove it.`]);
});

test('nothing is published that a Node of its platform has not loaded', (t) => {
  const prebuilds = makeFolder(t);
  for (const file of wanted) write(prebuilds, file);
  const faults = findReleaseFaults(prebuilds, (platform) => {
    if (platform === 'linux-x64-musl') throw new Error('there is no such Node');
    if (platform === 'linux-arm64-glibc')
      return { platform: 'linux-arm64-musl', node: '', method: 'openssl' };
    const reason = 'it failed its check';
    return {
      platform,
      node: '',
      ...(platform === 'linux-arm64-musl' ? { method: 'openssl' } : { method: 'builtin', reason }),
    };
  });
  assert.deepEqual(faults, [
    'prebuilds/linux-x64-glibc: it failed its check',
    'prebuilds/linux-x64-musl could not be tried: there is no such Node',
    'The Node for linux-arm64-glibc says that it is one for linux-arm64-musl.',
  ]);
});

const skip = describePlatform() === 'linux-x64-glibc' ? false : 'This Node would be emulated.';
test('a file that is no addon fails its trial', { skip }, (t) => {
  const prebuilds = makeFolder(t);
  write(prebuilds, `linux-x64-glibc/${name}`);
  const { platform, method, reason } = tryAccelerator('linux-x64-glibc', prebuilds);
  assert.deepEqual([platform, method], ['linux-x64-glibc', 'builtin']);
  assert.match(reason ?? '', /failed its check/);
});

test('the platform of an accelerator names the C library, as Node’s report has it', () => {
  const { header } = process.report.getReport() as {
    readonly header: { readonly glibcVersionRuntime?: string };
  };
  const libraries: Partial<Record<NodeJS.Platform, string>> = {
    linux: header.glibcVersionRuntime === undefined ? '-musl' : '-glibc',
  };
  assert.equal(describePlatform(), `${process.platform}-${process.arch}${libraries[process.platform] ?? ''}`);
});

function makeFolder(t: { readonly after: (end: () => void) => void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-release-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function write(folder: string, file: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), 'no addon');
}
