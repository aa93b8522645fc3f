// The files of the working copy, with the text of those that are code.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../repository.ts';
import type { Tree } from './references.ts';

/** @param more files that may have been removed: what still names them is touched */
export function readTree(more: readonly string[] = []): Tree {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n');
  const files = new Set([...listed, ...more].filter((file) => file !== ''));
  const code = [...files].filter((file) => /\.(?:[cm]?[jt]s)$/.test(file) && existsSync(join(root, file)));
  return { files, texts: new Map(code.map((file) => [file, readFileSync(join(root, file), 'utf8')])) };
}
