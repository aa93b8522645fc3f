// How to run this command in another terminal.
import { basename, relative } from 'node:path';

/**
 * @param argv of the process: the path of Node, then the path of the command
 * @returns `deskbell`, `npx deskbell` where the package is installed in the folder, or Node and the file, as absolute paths, since another terminal
 *   may have another Node and another directory
 */
export function invocationOf([node = 'node', file = 'deskbell']: readonly string[], folder: string): string {
  if (basename(file) === 'deskbell') {
    return relative(folder, file) === 'node_modules/.bin/deskbell' ? 'npx deskbell' : 'deskbell';
  }
  return `${quote(node)} ${quote(file)}`;
}

/** `text` as one word of a shell command. */
export const quote = (text: string): string =>
  /^[\w./:@,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
