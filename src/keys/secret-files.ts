// All secrets of a data directory together, as a backup takes them and a restore puts them back.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { adviceFor, secretFileNames, vapidFileName } from './key-file.ts';
import { pairFile } from './key-ring.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

export interface SecretFile {
  /** In its directory. */
  readonly name: string;
  readonly text: string;
}

const fixedNames: readonly string[] = [vapidFileName, ...secretFileNames];

export const isSecretFile = (name: string): boolean => fixedNames.includes(name) || pairFile.test(name);

/**
 * Reads all secrets that are there. `vapid-keys.json` is read before the pairs' files are listed: a rotation that replaces it
 * has written the former pair to a file of its own by then.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_EXPOSED, ERR_KEY_FILE_CORRUPT, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readSecretFiles(directory: string): Promise<readonly SecretFile[]> {
  const fixed = await readFiles(directory, fixedNames);
  const pairNames = (await readdir(directory)).filter((name) => pairFile.test(name));
  return [...fixed, ...(await readFiles(directory, pairNames.toSorted()))];
}

/** Those that are there. */
async function readFiles(directory: string, names: readonly string[]): Promise<readonly SecretFile[]> {
  const texts = await Promise.all(
    names.map((name) => readPrivateFile(join(directory, name), adviceFor(name))),
  );
  return names.flatMap((name, index) => {
    const text = texts[index];
    return text === undefined ? [] : [{ name, text }];
  });
}

/**
 * Writes secrets to a directory.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_EXISTS where one of the name is there that is another one, ERR_FILE
 */
export async function writeSecretFiles(directory: string, files: readonly SecretFile[]): Promise<void> {
  for (const { name, text } of files) {
    const path = join(directory, name);
    if (await writePrivateFile(path, text, { replace: false })) continue;
    if ((await readPrivateFile(path, adviceFor(name))) === text) continue;
    throw new DeskbellError(
      'ERR_KEY_FILE_EXISTS',
      `The key file ${path} exists already and has another content.`,
    );
  }
}
