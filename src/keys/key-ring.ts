// All VAPID pairs of a data directory. Each has its own file, written before any service offers its public key, so
// concurrent changes lose no pair. `vapid-keys.json` is a copy of the current pair, for other tools.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { VapidKeys } from '../protocol/vapid-token.ts';
import { readKeyFile, readPairFile, vapidFileName, writePairFile } from './key-file.ts';
import { removePrivateFile } from './private-file.ts';

/** Characters of the public key: 15 bytes of its point tell pairs apart. */
const nameLength = 21;
export const pairFile = new RegExp(`^vapid-keys-[\\w-]{${nameLength}}\\.json$`);

const pathOf = (directory: string, publicKey: string): string =>
  join(directory, `vapid-keys-${publicKey.slice(0, nameLength)}.json`);

/**
 * Reads all pairs; that of `vapid-keys.json` comes first.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readKeyRing(directory: string): Promise<readonly VapidKeys[]> {
  const ring = new Map<string, VapidKeys>();
  const first = await readKeyFile(directory);
  ring.set(first.publicKey, first);
  for (const name of await listPairFiles(directory)) {
    const keys = await readPairFile(join(directory, name));
    // a file may have been removed since the folder was listed
    if (keys !== undefined) ring.set(keys.publicKey, keys);
  }
  return [...ring.values()];
}

/** @throws {DeskbellError} ERR_FILE */
export async function addKeyPair(directory: string, keys: VapidKeys): Promise<void> {
  await writePairFile(pathOf(directory, keys.publicKey), keys, { replace: false });
}

/**
 * Makes `vapid-keys.json` a copy of this pair; the former pair keeps its own file.
 *
 * @throws {DeskbellError} as `readKeyRing` does
 */
export async function copyCurrentPair(directory: string, keys: VapidKeys): Promise<void> {
  const former = await readKeyFile(directory);
  if (former.publicKey === keys.publicKey) return;
  await addKeyPair(directory, former);
  await addKeyPair(directory, keys);
  await writePairFile(join(directory, vapidFileName), keys, { replace: true });
}

/** Removes the file of a pair that is not current. @throws {DeskbellError} ERR_FILE */
export async function removeKeyPair(directory: string, publicKey: string): Promise<void> {
  await removePrivateFile(pathOf(directory, publicKey));
}

/** @throws {DeskbellError} ERR_FILE */
export async function listPairFiles(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => pairFile.test(name)).toSorted();
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `The key files in ${directory} cannot be listed`, { cause });
  }
}
