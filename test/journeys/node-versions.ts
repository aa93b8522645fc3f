// Other versions of Node than the one that runs, from the npm package `node`.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeOnce } from '../../tools/make-once.ts';

/** The oldest one that the package supports. */
export const oldestNodeMajor = 24;

/** Path of the executable of a Node of this major version, installed once for all files of a run. */
export async function findNode(major: number): Promise<string> {
  const run = promisify(execFile);
  const folder = await makeOnce(`node-${major}`, async (cwd) => {
    const allowed = { private: true, allowScripts: { node: true } };
    await writeFile(join(cwd, 'package.json'), JSON.stringify(allowed));
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `node@${major}`], { cwd });
  });
  const node = join(folder, 'node_modules/node/bin/node');
  assert.match((await run(node, ['--version'])).stdout, new RegExp(`^v${major}\\.`));
  return node;
}
