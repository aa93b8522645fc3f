// Which files a change touches: what is not committed and what the branch adds to main; on main itself, the last commit.
import { execFileSync } from 'node:child_process';
import { root } from './repository.ts';

/**
 * @param commit what to compare with
 * @returns paths from the root, of files that were added, changed or removed
 */
export function findChangedFiles(commit = usualBase()): readonly string[] {
  const differing = git('diff', '--name-only', '--no-renames', commit);
  const added = git('ls-files', '--others', '--exclude-standard');
  return `${differing}\n${added}`.split('\n').filter((file) => file !== '');
}

function usualBase(): string {
  const main = ['main', 'origin/main'].find(isCommit);
  const base = main === undefined ? 'HEAD' : git('merge-base', 'HEAD', main);
  return findChangedFiles(base).length > 0 ? base : 'HEAD~';
}

function isCommit(name: string): boolean {
  try {
    git('rev-parse', '--verify', '--end-of-options', `${name}^{commit}`);
    return true;
  } catch {
    return false;
  }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}
