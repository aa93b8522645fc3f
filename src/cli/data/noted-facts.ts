// Facts that a command notes in the data directory, so that other commands can show them. Each is one line of a file.
// A fact may be out of date, but nothing depends on it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../../keys/private-file.ts';

type Fact = 'last-backup' | 'operator-address';

/** @throws {DeskbellError} ERR_FILE, ERR_DATA_EXPOSED, ERR_DATA_OWNER */
const note = (directory: string, fact: Fact, text: string): Promise<boolean> =>
  writePrivateFile(join(directory, fact), `${text}\n`, { replace: true });

const read = async (directory: string, fact: Fact): Promise<string> =>
  (await readFile(join(directory, fact), 'utf8').catch(() => '')).trim();

/** Notes when the last backup ended, for metrics and doctor. */
export const noteBackup = (directory: string, atMs: number) =>
  note(directory, 'last-backup', new Date(atMs).toISOString());

/** @returns milliseconds since 1970; `undefined` if there was no backup */
export async function readLastBackup(directory: string): Promise<number | undefined> {
  const atMs = Date.parse(await read(directory, 'last-backup'));
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Notes the address of the operator's listener, so that `operators add` can show a working command. */
export const noteOperatorAddress = (directory: string, address: string) =>
  note(directory, 'operator-address', address);

/** @returns the address with scheme and port; `undefined` if no listener was ever opened */
export const readOperatorAddress = async (directory: string): Promise<string | undefined> =>
  URL.parse(await read(directory, 'operator-address'))?.origin;
