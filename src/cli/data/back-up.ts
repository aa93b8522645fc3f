// Writes a data directory into one file. Processes that use the directory are neither waited for nor stopped.
import { existsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createPrivateFile } from '../../keys/private-file.ts';
import { readSecretFiles } from '../../keys/secret-files.ts';
import { completeBackup, copyDatabase, type BackupFile } from '../../store/sqlite/backup.ts';
import { storedSettingsPath } from '../configuration/stored-settings.ts';
import { databasePathOf, exampleUsersPathOf } from './data-directory.ts';

/**
 * Writes a backup, which only its owner can read.
 *
 * @param file must not exist
 * @param options `withKeys`: with all secrets of the directory
 * @returns how many bytes the file has
 * @throws {DeskbellError} ERR_FILE, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED
 */
export async function backUp(
  directory: string,
  file: string,
  { withKeys }: { readonly withKeys: boolean },
): Promise<number> {
  const fill = async (temporary: string): Promise<void> => {
    await copyDatabase(databasePathOf(directory), temporary);
    // later than the database: a pair is in its file before the database names it
    const secrets = withKeys ? await readSecretFiles(directory) : [];
    const secretFiles = secrets.map(({ name, text }) => ({ name, content: Buffer.from(text) }));
    const files = [
      ...secretFiles,
      ...(await readSettings(directory)),
      ...(await readExampleUsers(directory, temporary)),
    ];
    completeBackup(temporary, files);
  };
  if (await createPrivateFile(file, fill, { replace: false })) return (await stat(file)).size;
  throw new DeskbellError('ERR_FILE', `${file} exists already; a backup never replaces a file`);
}

async function readSettings(directory: string): Promise<readonly BackupFile[]> {
  const from = storedSettingsPath(directory);
  return existsSync(from) ? [{ name: storedSettingsPath(''), content: await readFile(from) }] : [];
}

/** Its users are no secret, and need no moment in common with the subscriptions. */
async function readExampleUsers(directory: string, temporary: string): Promise<readonly BackupFile[]> {
  const from = exampleUsersPathOf(directory);
  if (!existsSync(from)) return [];
  const copy = `${temporary}.users`;
  try {
    await copyDatabase(from, copy);
    return [{ name: exampleUsersPathOf(''), content: await readFile(copy) }];
  } finally {
    await rm(copy, { force: true });
  }
}
