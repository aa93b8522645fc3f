// Backs up a data directory to one file, and makes a data directory from such a file. Processes that use the directory
// can continue during a backup.
import { randomBytes } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeResumption } from '../../delivery/schedule/resume-sending.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createPrivateFile, linkUnlessThere, syncDirectory } from '../../keys/private-file.ts';
import { isSecretFile, readSecretFiles, writeSecretFiles } from '../../keys/secret-files.ts';
import { vapidFileName } from '../../keys/vapid-key-files.ts';
import {
  type BackupFile,
  checkBackup,
  completeBackup,
  copyDatabase,
  takeBackupFiles,
} from '../../store/sqlite/backup.ts';
import { storedSettingsPath } from '../configuration/read-configuration.ts';
import { databasePathOf, exampleUsersPathOf, makeDirectory } from './data-directory.ts';
import { withData } from './open-data.ts';

/**
 * Writes a backup that only its owner can read.
 *
 * @param file must not exist
 * @param options `withKeys`: include all secrets of the directory
 * @returns size of the file in bytes
 * @throws {DeskbellError} ERR_FILE, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED
 * @throws `stop.reason` if `stop` is aborted
 */
export async function backUp(
  directory: string,
  file: string,
  { withKeys, stop }: { readonly withKeys: boolean; readonly stop?: AbortSignal },
): Promise<number> {
  const fill = async (temporary: string): Promise<void> => {
    await copyDatabase(databasePathOf(directory), temporary, stop);
    // read the keys after the database, since a pair is written to its file before the database names it
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

/** The example users are not secret. Their copy may be older or newer than the copy of the subscriptions. */
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

/**
 * Makes a data directory from a backup. The restored database is opened once, and is moved into the directory only
 * after everything else that Deskbell needs is there. Sending is paused, because messages that the original sent after
 * the backup would be sent again.
 *
 * @param directory may already contain keys, and must contain them if the backup has none
 * @throws {DeskbellError} ERR_DATA_EXISTS, ERR_KEY_FILE_MISSING, ERR_KEY_FILE_EXISTS if keys differ from the backup's,
 *   ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_UNAVAILABLE, ERR_FILE
 * @throws `stop.reason` if `stop` is aborted
 */
export async function restore(file: string, directory: string, stop?: AbortSignal) {
  await stat(file);
  checkBackup(file);
  await makeDirectory(directory);
  if (existsSync(databasePathOf(directory))) {
    throw new DeskbellError('ERR_DATA_EXISTS', `The data directory ${directory} has a database already`);
  }
  assertNoLog(databasePathOf(directory));
  const draft = join(directory, `.restore-${randomBytes(6).toString('hex')}`);
  await mkdir(draft, { mode: 0o700 });
  try {
    await fillDraft(file, draft, { directory, stop });
    const restored = await useDraft(draft, directory);
    stop?.throwIfAborted();
    await writeSecretFiles(directory, await readSecretFiles(draft));
    for (const path of [exampleUsersPathOf, databasePathOf]) await place(path(draft), path(directory));
    // settings that are already in the directory take precedence
    if (existsSync(storedSettingsPath(draft)))
      await linkUnlessThere(storedSettingsPath(draft), storedSettingsPath(directory));
    await syncDirectory(directory);
    return restored;
  } finally {
    await rm(draft, { recursive: true });
  }
}

/** Refuses an old log, which SQLite would apply to the restored database. @throws {DeskbellError} ERR_DATA_EXISTS */
function assertNoLog(path: string): void {
  const side = [`${path}-wal`, `${path}-shm`].find((file) => existsSync(file));
  if (side === undefined) return;
  throw new DeskbellError(
    'ERR_DATA_EXISTS',
    `${side} belongs to a database that was moved away without it, perhaps while a process was using it`,
  );
}

/** Unpacks the backup, and adds the secrets that the directory already has. */
async function fillDraft(
  file: string,
  draft: string,
  { directory, stop }: { readonly directory: string; readonly stop: AbortSignal | undefined },
): Promise<void> {
  const database = databasePathOf(draft);
  await copyFile(file, database, stop);
  const files = takeBackupFiles(database);
  await writeSecretFiles(draft, await readSecretFiles(directory));
  const secrets = files.filter(({ name }) => isSecretFile(name));
  const texts = secrets.map(({ name, content }) => ({ name, text: Buffer.from(content).toString() }));
  await writeSecretFiles(draft, texts);
  for (const pathIn of [exampleUsersPathOf, storedSettingsPath]) {
    const found = files.find(({ name }) => name === pathIn(''));
    if (found !== undefined) await writeFile(pathIn(draft), found.content, { mode: 0o600 });
  }
  if ((await readdir(draft)).includes(vapidFileName)) return;
  throw new DeskbellError(
    'ERR_KEY_FILE_MISSING',
    `The backup ${file} was made without --with-keys, and ${directory} has no ${vapidFileName}`,
  );
}

/** @throws `stop.reason` if `stop` is aborted, and errors of the file system */
async function copyFile(from: string, to: string, stop: AbortSignal | undefined): Promise<void> {
  try {
    await writeFile(to, createReadStream(from), { mode: 0o600, ...(stop && { signal: stop }) });
  } catch (error) {
    stop?.throwIfAborted();
    throw error;
  }
}

/** Opens the unfinished directory as a data directory. */
async function useDraft(draft: string, directory: string) {
  try {
    return await withData({ data: draft, database: undefined }, {}, async ({ store }) => {
      await store.sending.pause('restored');
      return {
        subscriptions: await store.subscriptions.count(),
        /** What the restored store will send when sending is resumed. */
        resumption: await describeResumption(store),
      };
    });
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    throw new DeskbellError(error.code, error.message.replaceAll(draft, directory), { cause: error.cause });
  }
}

async function place(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return;
  if (await linkUnlessThere(from, to)) return;
  throw new DeskbellError('ERR_DATA_EXISTS', `${to} was created by another process in the meantime`);
}
