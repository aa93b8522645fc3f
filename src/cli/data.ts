// The data directory as commands use it: opened for one piece of work and closed whatever comes of it.
import { stat } from 'node:fs/promises';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { DataDirectory } from '../store/data-directory.ts';

/**
 * Runs `work` on an existing data directory. A directory that is not there is a mistyped path, not a wish for a new
 * one: only `serve` and `keys generate` make it.
 *
 * @throws {DeskbellError} ERR_DATA_MISSING, and what opening it throws
 */
export async function withExistingData<Result>(
  directory: string,
  work: (data: DataDirectory) => Promise<Result>,
): Promise<Result> {
  await requireData(directory);
  return withData(directory, work);
}

/** @throws {DeskbellError} ERR_DATA_MISSING */
export async function requireData(directory: string): Promise<void> {
  if (await isThere(directory)) return;
  throw new DeskbellError('ERR_DATA_MISSING', `There is no data directory ${directory}`);
}

/** The same for a directory that may have to be made. */
export async function withData<Result>(
  directory: string,
  work: (data: DataDirectory) => Promise<Result>,
): Promise<Result> {
  const { openDataDirectory } = await import('../store/data-directory.ts');
  const data = await openDataDirectory(directory);
  try {
    return await work(data);
  } finally {
    await data.close();
  }
}

export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw new DeskbellError('ERR_FILE', `${path} cannot be used`, { cause: error });
    },
  );
