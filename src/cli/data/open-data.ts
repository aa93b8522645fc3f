// Opens the data directory for a command, and closes it whether or not the command succeeds.
import { stat } from 'node:fs/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { DataDirectory, DataDirectoryOptions } from './data-directory.ts';
import type { Configuration } from '../configuration/configuration.ts';

export type DataSettings = Pick<Configuration, 'data' | 'database'> &
  Partial<Pick<Configuration, 'groupAccess'>>;

/**
 * Runs `work` on an existing data directory. A missing directory is an error, because its path is probably mistyped.
 * Only `serve`, `keys generate` and `operators add` create a directory.
 *
 * @throws {DeskbellError} ERR_DATA_MISSING, and what opening the directory throws
 */
export async function withExistingData<Result>(
  settings: DataSettings,
  work: (data: DataDirectory) => Promise<Result>,
  options: Omit<DataDirectoryOptions, keyof DataSettings> = {},
): Promise<Result> {
  await requireData(settings.data);
  return withData(settings, options, work);
}

/** @throws {DeskbellError} ERR_DATA_MISSING */
export async function requireData(directory: string): Promise<void> {
  if (await exists(directory)) return;
  throw new DeskbellError('ERR_DATA_MISSING', `The data directory ${directory} does not exist`);
}

/** Like `withExistingData`, but creates the directory if it does not exist. */
export async function withData<Result>(
  { data: directory, database, groupAccess }: DataSettings,
  options: Omit<DataDirectoryOptions, keyof DataSettings>,
  work: (data: DataDirectory) => Promise<Result>,
): Promise<Result> {
  const { openDataDirectory } = await import('./data-directory.ts');
  const data = await openDataDirectory(directory, { ...options, database, groupAccess });
  try {
    return await work(data);
  } finally {
    await data.close();
  }
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw new DeskbellError('ERR_FILE', `${path} cannot be used`, { cause: error });
    },
  );
