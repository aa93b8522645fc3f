// How to run this command in another terminal.
import { basename, relative } from 'node:path';

/**
 * @param argv of the process: the path of Node, then the path of the command
 * @returns `deskbell`, `npx deskbell` where the package is installed in the folder, or Node and the file
 */
export function invocationOf([node = 'node', file = 'deskbell']: readonly string[], folder: string): string {
  const path = relative(folder, file);
  if (basename(file) === 'deskbell') {
    return path === 'node_modules/.bin/deskbell' ? 'npx deskbell' : 'deskbell';
  }
  // The Node of the project's own packages, whatever Node the other terminal has.
  const runtime = relative(folder, node).startsWith('node_modules/') ? 'npx node' : quote(node);
  return `${runtime} ${quote(path.startsWith('..') ? file : path)}`;
}

/** `text` as one word of a shell command. */
export const quote = (text: string): string =>
  /^[\w./:@,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
