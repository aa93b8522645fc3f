// The address of the operator's listener, which `serve` keeps in the data directory, so that `operators add` can show a command
// that reaches it. It may be out of date: nothing but that command is made from it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../../keys/private-file.ts';

const pathOf = (directory: string): string => join(directory, 'operator-address');

/** @throws {DeskbellError} ERR_FILE, ERR_DATA_EXPOSED, ERR_DATA_OWNER */
export async function storeOperatorAddress(directory: string, address: string): Promise<void> {
  await writePrivateFile(pathOf(directory), `${address}\n`, { replace: true });
}

/** @returns with scheme and port; `undefined` where no listener has been opened */
export async function readOperatorAddress(directory: string): Promise<string | undefined> {
  const text = await readFile(pathOf(directory), 'utf8').catch(() => '');
  return URL.parse(text.trim())?.origin;
}
