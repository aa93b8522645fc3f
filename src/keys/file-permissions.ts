// Who else on this machine could read or change a file that holds secrets, and whether it is a file at all.
import { statSync, type Stats } from 'node:fs';
import { DeskbellError } from '../errors/deskbell-error.ts';

const groupAndOthers = 0o077;
const writeByGroupOrOthers = 0o022;

/** True where group or others have any right to the file. File modes say nothing on Windows. */
export function isOpenToOthers({ mode }: Pick<Stats, 'mode'>): boolean {
  return (mode & groupAndOthers) !== 0 && process.platform !== 'win32';
}

/** As `chmod` takes it: `0644`. */
export function formatMode({ mode }: Pick<Stats, 'mode'>): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** What something that is no regular file is: "a directory", "a FIFO" … */
export function fileKind(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/**
 * Whoever can write to a directory can replace what is in it. A directory that does not exist passes.
 *
 * @throws {DeskbellError} ERR_DATA_EXPOSED
 */
export function assertDirectoryIsProtected(directory: string): void {
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats === undefined || process.platform === 'win32') return;
  if ((stats.mode & writeByGroupOrOthers) === 0) return;
  throw new DeskbellError(
    'ERR_DATA_EXPOSED',
    `The directory ${directory} has mode ${formatMode(stats)}, so that others on this machine can replace the keys and ` +
      'subscriptions in it; take that right away (chmod go-w), or use a directory inside it.',
  );
}
