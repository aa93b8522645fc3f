// What the npm scripts say where Node cannot run them: one line with the remedy. Node itself is stood in for by a script
// that answers `--version` as an old one does, or as the loader of a minimal Debian does.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { suite, test } from 'node:test';

const root = join(import.meta.dirname, '..');

const cases = [
  { what: 'this Node', answer: `echo ${process.version}`, status: 0, said: /^$/ },
  {
    what: 'an old Node',
    answer: 'echo v20.20.2',
    status: 1,
    said: /^deskbell: .*v20\.20\.2.* 24 .*npm ci.*\n$/,
  },
  {
    what: 'a Debian without libatomic1',
    answer:
      'echo "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file: No such file or directory" >&2; exit 127',
    status: 1,
    said: /^deskbell: .*"apt-get install libatomic1".*\n$/,
  },
  {
    what: 'a Node that does not start for another reason',
    answer: 'echo "Illegal instruction" >&2; exit 132',
    status: 1,
    said: /^deskbell: Node does not start: Illegal instruction\n$/,
  },
];

suite('scripts/require-node.sh', () => {
  for (const { what, answer, status, said } of cases) {
    test(`with ${what} it ends with ${status}`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'deskbell-node-'));
      t.after(() => rm(folder, { recursive: true }));
      await writeFile(join(folder, 'node'), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
      const result = spawnSync('sh', [join(root, 'scripts/require-node.sh')], {
        encoding: 'utf8',
        env: { PATH: [folder, process.env['PATH']].join(delimiter) },
      });
      assert.equal(result.status, status);
      assert.match(result.stderr, said);
      assert.equal(result.stdout, '');
    });
  }

  test('it goes before the scripts that people run', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const name of ['demo', 'test', 'build', 'check', 'soak', 'prove', 'bench'])
      assert.match(scripts[name] ?? '', /^sh scripts\/require-node\.sh && /);
  });
});
