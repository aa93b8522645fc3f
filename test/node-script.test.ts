// What scripts/node.sh says if the Node of node_modules cannot run, and that no install script of a package meets that Node.
// It is stood in for by a script that answers `--version` as the loader of a minimal Debian does.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');
const withoutLibatomic =
  'echo "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file: No such file or directory" >&2; exit 127';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-node-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

function writeProgram(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

const cases = [
  {
    what: 'a Node that starts',
    answer: '[ "$1" = --version ] || echo "$1, $2, $(command -v node), ${npm_config_bin_links-unset}"',
    said: /^a b, c, \/\S+\/node_modules\/node\/bin\/node, unset\n$/,
  },
  { what: 'no Node', answer: undefined, said: /^deskbell: node_modules has no Node\. Run "npm ci";.*\n$/ },
  {
    what: 'no libatomic',
    answer: withoutLibatomic,
    said: /^deskbell: .*"apt-get install libatomic1".*\n$/,
  },
  {
    what: 'a Node that does not start for another reason',
    answer: 'echo "Illegal instruction" >&2; exit 132',
    said: /^deskbell: Node does not start: Illegal instruction\n$/,
  },
];

suite('scripts/node.sh', () => {
  for (const { what, answer, said } of cases) {
    test(`with ${what}`, async (t) => {
      const folder = await temporaryFolder(t);
      cpSync(join(root, 'scripts/node.sh'), join(folder, 'scripts/node.sh'), { recursive: true });
      if (answer !== undefined) writeProgram(join(folder, 'node_modules/node/bin/node'), answer);
      const { status, stdout, stderr } = spawnSync('sh', ['scripts/node.sh', 'a b', 'c'], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], npm_config_bin_links: 'false' },
      });
      assert.match(stdout + stderr, said);
      assert.deepEqual([status, stderr], stdout ? [0, ''] : [1, stderr]);
    });
  }

  test('every npm script runs its programs with it', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const commands = Object.values(scripts).flatMap((script) => script.split(' && '));
    assert.deepEqual(
      commands.filter((command) => !/^(sh scripts\/node\.sh|npm (run|ci|test)) /.test(command)),
      [],
    );
  });
});

test('an install script runs on the Node that runs npm, not on one that a package brings', async (t) => {
  const folder = await temporaryFolder(t);
  cpSync(join(root, '.npmrc'), join(folder, '.npmrc'));
  const writePackage = (path: string, content: object): void => {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify({ version: '1.0.0', ...content }));
  };
  writePackage('packages/node', { name: 'node', bin: { node: 'node' } });
  writeProgram(join(folder, 'packages/node/node'), withoutLibatomic);
  const postinstall = `node -e "require('fs').writeFileSync('ran-on', process.version)"`;
  writePackage('packages/other', { name: 'other', scripts: { postinstall } });
  const dependencies = { node: 'file:packages/node', other: 'file:packages/other' };
  writePackage('.', { dependencies, allowScripts: { other: true } });

  // copied, as packages of a registry are
  await promisify(execFile)('npm', ['install', '--offline', '--install-links'], { cwd: folder });

  assert.match(readFileSync(join(folder, 'node_modules/other/ran-on'), 'utf8'), /^v\d+/);
});
