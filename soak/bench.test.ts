// Each section of the bench still runs: nothing else calls what it measures by hand, such as rows that it writes itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { root } from '../scripts/repository.ts';

// `versions` needs another checkout
const others = new Set(['run', 'versions']);
const sections = globSync('bench/*.ts', { cwd: root })
  .map((file) => basename(file, '.ts'))
  .filter((name) => !others.has(name));

for (const section of sections) {
  test(`npm run bench -- ${section}`, async () => {
    const words = [join(root, 'bench/run.ts'), section, '--quick'];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root, maxBuffer: 2 ** 24 });
    assert.match(stdout, /^\|.*\d/m);
  });
}
