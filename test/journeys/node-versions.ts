// Other versions of Node than the one that runs, from the npm package `node`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The oldest one that the package supports. */
export const oldestNodeMajor = 24;

/** Path of the executable of a Node of this major version; kept in build/ for the next time. */
export async function findNode(major: number): Promise<string> {
  const folder = join(import.meta.dirname, `../../build/node-${major}`);
  const node = join(folder, 'node_modules/node/bin/node');
  const run = promisify(execFile);
  if (!existsSync(node)) {
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ private: true, allowScripts: { node: true } }),
    );
    const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', `node@${major}`];
    await run('npm', words, { cwd: folder });
  }
  assert.match((await run(node, ['--version'])).stdout, new RegExp(`^v${major}\\.`));
  return node;
}
