// Records in the data directory when its last backup ended, for metrics and doctor.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../../keys/private-file.ts';

const pathOf = (directory: string): string => join(directory, 'last-backup');

/** @throws {DeskbellError} ERR_FILE, ERR_DATA_EXPOSED, ERR_DATA_OWNER */
export async function storeLastBackup(directory: string, atMs: number): Promise<void> {
  await writePrivateFile(pathOf(directory), `${new Date(atMs).toISOString()}\n`, { replace: true });
}

/** @returns milliseconds since 1970; `undefined` if there was no backup */
export async function readLastBackup(directory: string): Promise<number | undefined> {
  const atMs = Date.parse((await readFile(pathOf(directory), 'utf8').catch(() => '')).trim());
  return Number.isNaN(atMs) ? undefined : atMs;
}
