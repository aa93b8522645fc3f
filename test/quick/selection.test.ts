// What `npm run test:quick` runs: what names the changed file, directly or not, the nearest first, as far as the time goes.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { findTouchedTests, fitIn } from '../../scripts/quick/selection.ts';
import { readTree } from '../../scripts/quick/tree.ts';
import { root } from '../../scripts/repository.ts';

const filesTouchedBy = (texts: Readonly<Record<string, string>>, ...changed: readonly string[]) =>
  findTouchedTests(
    { files: new Set(Object.keys(texts)), texts: new Map(Object.entries(texts)) },
    changed,
  ).map(({ file }) => file);

describe('a test is touched by', () => {
  for (const [what, text, isTouched] of [
    ['what it imports', `import { a } from '../src/a.ts';`, true],
    ['what it imports for its effects', `import '../src/a.ts';`, true],
    ['what it imports in several lines', `import {\n  a,\n  type B,\n} from '../src/a.ts';`, true],
    ['what it hands on', `export { a } from '../src/a.ts';`, true],
    ['what it imports while it runs', `await import('../src/a.ts');`, true],
    ['what it requires', `require('../src/a.ts');`, true],
    ['a thread or child by its URL', `new Worker(new URL('../src/a.ts', import.meta.url));`, true],
    ['a child by its path', `fork(join(import.meta.dirname, '../src/a.ts'));`, true],
    ['what has a computed ending', 'new URL(`../src/a${ending}`, import.meta.url);', true],
    ['what it names from the top', `join(root, 'src/a.ts')`, true],
    ['a folder that it reads', `readdirSync(join(import.meta.dirname, '../src/'))`, true],
    ['another file of that name, not', `import './a.ts';`, false],
    ['what it has only types from, not', `import type { A } from '../src/a.ts';`, false],
  ] as const) {
    test(what, () => {
      const texts = { 'src/a.ts': '', 'test/a.ts': '', 'test/x.test.ts': text };
      assert.deepEqual(filesTouchedBy(texts, 'src/a.ts'), isTouched ? ['test/x.test.ts'] : []);
    });
  }

  test('itself, and what other files lie between, and what was removed', () => {
    const texts = {
      'src/b.ts': `import './a.ts';`,
      'test/x.ts': `import '../src/b.ts';`,
      'test/x.test.ts': `import './x.ts';`,
      'test/y.test.ts': '',
    };
    assert.deepEqual(filesTouchedBy({ ...texts, 'src/a.ts': '' }, 'src/a.ts'), ['test/x.test.ts']);
    assert.deepEqual(filesTouchedBy(texts, 'test/y.test.ts'), ['test/y.test.ts']);
    const removed = {
      files: new Set([...Object.keys(texts), 'src/a.ts']),
      texts: new Map(Object.entries(texts)),
    };
    assert.equal(findTouchedTests(removed, ['src/a.ts']).length, 1);
  });
});

test('those come first that mirror the change, then those that are fewer steps away', () => {
  const texts = {
    'src/store/sqlite/a.ts': '',
    'src/far.ts': `import './store/sqlite/a.ts';`,
    'test/other/near.test.ts': `import '../../src/store/sqlite/a.ts';`,
    'test/other/far.test.ts': `import '../../src/far.ts';`,
    'test/store/far.test.ts': `import '../../src/far.ts';`,
    'test/store/a.test.ts': `import '../../src/far.ts';`,
  };
  assert.deepEqual(filesTouchedBy(texts, 'src/store/sqlite/a.ts'), [
    'test/store/a.test.ts',
    'test/store/far.test.ts',
    'test/other/near.test.ts',
    'test/other/far.test.ts',
  ]);
});

test('what does not fit into the time is left out, and what comes later and is shorter is not', () => {
  const tests = ['near', 'slow', 'far'].map((file, steps) => ({ file, steps }));
  const { chosen, leftOut } = fitIn(10, tests, (file) => (file === 'slow' ? 9 : 2));
  assert.deepEqual(
    [chosen.map(({ file }) => file), leftOut.map(({ file }) => file)],
    [['near', 'far'], ['slow']],
  );
});

describe('in this repository', () => {
  const tree = readTree();
  const nearest = (file: string): readonly string[] => {
    assert.ok(tree.files.has(file), file);
    return findTouchedTests(tree, [file]).map((found) => found.file);
  };

  test('commands, threads, children, the worker of pages, and documents have their tests', () => {
    assert.equal(nearest('src/cli/commands/backup.ts')[0], 'test/cli/backup.test.ts');
    assert.equal(nearest('src/client/service-worker.ts')[0], 'test/client/service-worker.test.ts');
    assert.ok(nearest('src/delivery/worker/worker-thread.ts').includes('test/delivery/broadcast.test.ts'));
    assert.ok(nearest('test/delivery/sending-child.ts').includes('test/delivery/crash.test.ts'));
    assert.ok(nearest('docs/operations.md').includes('test/documentation/links.test.ts'));
  });

  test('tests that are listed as slow are there', async () => {
    const slow = await readFile(join(root, 'scripts/quick/slow-tests.json'), 'utf8');
    for (const file of Object.keys(JSON.parse(slow) as object)) assert.ok(existsSync(join(root, file)), file);
  });
});
