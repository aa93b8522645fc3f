// The current VAPID pair. It is never replaced silently: a new pair would lose every subscriber.
import { join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { checkVapidKeys, generateVapidKeys, type VapidKeys } from '../protocol/vapid-token.ts';
import { readPrivateFile, unusableError, writePrivateFile } from './private-file.ts';

/** `{"publicKey": "…", "privateKey": "…"}`, like the files of other web push tools. */
export const vapidFileName = 'vapid-keys.json';
export const pairAdvice = 'Restore it from a backup; a new pair would lose every subscriber.';
/**
 * Reads the VAPID pair of a data directory.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readKeyFile(directory: string): Promise<VapidKeys> {
  const keys = await readPairFile(join(directory, vapidFileName));
  if (keys !== undefined) return keys;
  throw new DeskbellError('ERR_KEY_FILE_MISSING', `There is no key file ${join(directory, vapidFileName)}.`);
}

/**
 * Reads the VAPID pair; creates one if there is none. Call it only if no subscription can be lost by a new pair.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function loadOrCreateKeyFile(directory: string): Promise<VapidKeys> {
  const existing = await readPairFile(join(directory, vapidFileName));
  if (existing !== undefined) return existing;
  const created = generateVapidKeys();
  const isWritten = await writePairFile(join(directory, vapidFileName), created, { replace: false });
  return isWritten ? created : readKeyFile(directory);
}

/**
 * @param options `force` replaces an existing pair and so loses its subscribers
 * @throws {DeskbellError} ERR_KEY_FILE_EXISTS, ERR_VAPID_KEY_INVALID
 */
export async function writeKeyFile(
  directory: string,
  keys: VapidKeys,
  options: { readonly force: boolean },
): Promise<void> {
  checkVapidKeys(keys);
  const path = join(directory, vapidFileName);
  if (await writePairFile(path, keys, { replace: options.force })) return;
  throw new DeskbellError('ERR_KEY_FILE_EXISTS', `The key file ${path} exists already.`);
}

/**
 * @returns `undefined` if there is no such file
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readPairFile(path: string): Promise<VapidKeys | undefined> {
  const text = await readPrivateFile(path, pairAdvice);
  return text === undefined ? undefined : parsePair(text, path);
}

/**
 * @returns false if the file exists and may not be replaced
 * @throws {DeskbellError} ERR_FILE
 */
export function writePairFile(
  path: string,
  keys: VapidKeys,
  options: { readonly replace: boolean },
): Promise<boolean> {
  const { publicKey, privateKey } = keys;
  return writePrivateFile(path, `${JSON.stringify({ publicKey, privateKey })}\n`, options);
}

function parsePair(text: string, path: string): VapidKeys {
  try {
    const { publicKey, privateKey } = JSON.parse(text) as VapidKeys;
    checkVapidKeys({ publicKey, privateKey });
    return { publicKey, privateKey };
  } catch (error) {
    if (error instanceof DeskbellError) throw unusableError(path, error.message, pairAdvice, error);
    // the parser's message would quote the file
    const reason = 'it is not JSON with publicKey and privateKey; it may be half-written.';
    throw unusableError(path, reason, pairAdvice);
  }
}
