// Releases: what one must have, and what the workflows of .github/ may do.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tryAccelerator } from '../scripts/accelerator/other-machines.ts';
import { findReleaseFaults } from '../scripts/check-release.ts';
import { findVersionFaults } from '../scripts/release/check-version.ts';
import { addonName, describePlatform } from '../src/accelerator/addon.ts';

const name = addonName();
const wanted = [
  `linux-x64-glibc/${name}`,
  `linux-x64-musl/${name}`,
  `linux-arm64-glibc/${name}`,
  `linux-arm64-musl/${name}`,
];

const load = (platform: string) => ({ platform, node: 'v26.10.0', method: 'openssl' }) as const;

test('a release has the accelerator of each platform, and nothing else', (t) => {
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

// The workflows of .github/: what they run from elsewhere is pinned, no job has more rights than it needs, and what is published is approved.

const root = join(import.meta.dirname, '..');
const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));
const release = workflows.find(({ path }) => path.endsWith('release.yml'))!.text;

/** The jobs of the release, by name. */
const jobs = new Map(
  release
    .slice(release.indexOf('\njobs:\n'))
    .split(/^ {2}(?=\w+:$)/m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf(':')), text]),
);

test('every action is pinned to a commit, and keeps no credentials for what follows', () => {
  for (const { path, text } of workflows) {
    const actions = Array.from(text.matchAll(/uses: (.+)/g), ([, action = '']) => action);
    assert.ok(actions.length > 0, path);
    for (const action of actions) assert.match(action, /^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    const checkouts = text.match(/actions\/checkout@/g)?.length;
    assert.equal(text.match(/persist-credentials: false/g)?.length, checkouts, path);
  }
});

test('a workflow has no rights but to read, and each job of a release states its own', () => {
  for (const { path, text } of workflows)
    assert.match(text, /^permissions:(?: \{\}|\n {2}contents: read\n)\n/m, path);
  const rights = Array.from(jobs, ([job, text]) => {
    const [, block = ''] = /^ {4}permissions:\n((?: {6}.+\n)+)/m.exec(text) ?? [];
    return [job, block.trim().split(/\n\s*/)];
  });
  assert.deepEqual(Object.fromEntries(rights), {
    package: ['contents: read'],
    attest: ['id-token: write', 'attestations: write'],
    stage: ['contents: read', 'id-token: write'],
    image: ['contents: read', 'packages: write', 'id-token: write', 'attestations: write'],
  });
});

test('what is published is staged, approved and attested, and no token of npm is stored', () => {
  for (const job of ['stage', 'image']) assert.match(jobs.get(job)!, /^ {4}environment: release$/m);
  for (const job of ['attest', 'image']) assert.match(jobs.get(job)!, /attest-build-provenance/);
  assert.match(jobs.get('stage')!, /stage-package\.sh deskbell-\*\.tgz --provenance$/m);
  assert.doesNotMatch(release, /secrets\.|: npm publish/);
  // who can write for others runs neither dependencies nor code of the project but the scripts of a release
  for (const job of ['attest', 'stage', 'image']) assert.doesNotMatch(jobs.get(job)!, /npm ci|npm run/);
});

test('every script that a workflow runs is there', () => {
  for (const { path, text } of workflows) {
    for (const [, script = ''] of text.matchAll(/(?<![\w/.])((?:scripts|\.ci)\/[\w./-]+)/g))
      assert.ok(existsSync(join(root, script)), `${path}: ${script}`);
  }
  for (const script of globSync('scripts/release/*.sh', { cwd: root }))
    execFileSync('sh', ['-n', join(root, script)]);
});

test('a version is released whose tag, changelog and repository fit', () => {
  const fitting = {
    version: '1.2.3',
    repository: 'git+https://github.com/someone/deskbell.git',
    changelog: '# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-12-01)\n',
    tag: 'v1.2.3',
    builtIn: 'someone/deskbell',
  };
  assert.deepEqual(findVersionFaults(fitting), []);
  assert.deepEqual(findVersionFaults({ ...fitting, version: '1.2', repository: undefined }), [
    'The tag is v1.2.3, and package.json has version 1.2.',
    'CHANGELOG.md has no section "## 1.2".',
    '"repository.url" in package.json is missing. npm compares it with the provenance: set it to git+https://github.com/someone/deskbell.git.',
  ]);
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/release/check-version.ts')], {
    env: { ...process.env, GITHUB_REF_NAME: 'v0.0.1', GITHUB_REPOSITORY: 'someone/deskbell' },
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /^The tag is v0\.0\.1, and package\.json has version /);
});
