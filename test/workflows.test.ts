// The workflows of .github/: what they run from elsewhere is pinned, no job has more rights than it needs, and what is published is approved.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findVersionFaults } from '../scripts/release/check-version.ts';

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
  const rights = Array.from(jobs, ([name, text]) => {
    const [, block = ''] = /^ {4}permissions:\n((?: {6}.+\n)+)/m.exec(text) ?? [];
    return [name, block.trim().split(/\n\s*/)];
  });
  assert.deepEqual(Object.fromEntries(rights), {
    package: ['contents: read'],
    attest: ['id-token: write', 'attestations: write'],
    stage: ['contents: read', 'id-token: write'],
    image: ['contents: read', 'packages: write', 'id-token: write', 'attestations: write'],
  });
});

test('what is published is staged, approved and attested, and no token of npm is stored', () => {
  for (const name of ['stage', 'image']) assert.match(jobs.get(name)!, /^ {4}environment: release$/m);
  for (const name of ['attest', 'image']) assert.match(jobs.get(name)!, /attest-build-provenance/);
  assert.match(jobs.get('stage')!, /stage-package\.sh deskbell-\*\.tgz --provenance$/m);
  assert.doesNotMatch(release, /secrets\.|: npm publish/);
  // who can write for others runs neither dependencies nor code of the project but the scripts of a release
  for (const name of ['attest', 'stage', 'image']) assert.doesNotMatch(jobs.get(name)!, /npm ci|npm run/);
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
