// Copies of the working tree to make changes in: what Git knows or would add, with the packages of the original.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { SourceChange } from '../../test/prove/source-change.ts';
import { root } from '../repository.ts';

export interface WorkingCopy extends AsyncDisposable {
  readonly folder: string;
  /**
   * Makes a change for as long as `work` takes.
   *
   * @throws {Error} the text to be replaced does not stand exactly once in the file
   */
  withChange<Result>(change: SourceChange, work: () => Promise<Result>): Promise<Result>;
}

export async function createWorkingCopy(): Promise<WorkingCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-prove-'));
  const options = { cwd: root, maxBuffer: 2 ** 26 };
  const listFiles = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', listFiles, options);
  for (const file of new Set(stdout.split('\0'))) {
    // A file that was deleted and not yet committed is listed all the same.
    if (file !== '') await cp(join(root, file), join(folder, file)).catch(ignoreMissing);
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    async withChange(change, work) {
      const path = join(folder, change.file);
      const original = await readFile(path, 'utf8');
      await writeFile(path, applyChange(original, change));
      try {
        return await work();
      } finally {
        await writeFile(path, original);
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** @throws {Error} the text to be replaced does not stand exactly once in the source */
export function applyChange(source: string, { file, search, replacement }: SourceChange): string {
  const count = source.split(search).length - 1;
  if (count === 1) return source.replace(search, () => replacement);
  throw new Error(`${file} has the text ${JSON.stringify(search)} ${count} times, not once.`);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
