// The current VAPID pair. It is never replaced silently, because a new pair would lose every subscriber.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { countOf } from '../errors/format-count.ts';
import { checkVapidKeys, generateVapidKeys, type VapidKeys } from '../protocol/vapid.ts';
import { readPrivateFile, removePrivateFile, unusableError, writePrivateFile } from './private-file.ts';

/** Contains `{"publicKey": "…", "privateKey": "…"}`, like the key files of other Web Push tools. */
export const vapidFileName = 'vapid-keys.json';
export const pairAdvice = 'Restore it from a backup; a new pair would lose every subscriber.';
/**
 * Reads the current VAPID pair of a data directory.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readKeyFile(directory: string): Promise<VapidKeys> {
  const keys = await readPairFile(join(directory, vapidFileName));
  if (keys !== undefined) return keys;
  throw new DeskbellError('ERR_KEY_FILE_MISSING', `There is no key file ${join(directory, vapidFileName)}.`);
}

/**
 * Reads the current VAPID pair, or creates one. Call this only if no subscription can depend on another pair.
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

/** Writes the current pair. With `force`, replaces an existing pair. @throws {DeskbellError} ERR_KEY_FILE_EXISTS */
export async function writeKeyFile(
  directory: string,
  keys: VapidKeys,
  options: { readonly force: boolean },
): Promise<void> {
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
function writePairFile(
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
    const reason = 'it is not JSON with publicKey and privateKey; it may be half-written.';
    throw unusableError(path, reason, pairAdvice);
  }
}

// All VAPID pairs of a data directory. Each pair gets its own file before a service offers its public key, so
// concurrent changes lose no pair. `vapid-keys.json` is a copy of the current pair for other tools.

/** A file name has this many characters of the public key. They encode 15 bytes, enough to tell pairs apart. */
const nameLength = 21;
export const pairFile = new RegExp(`^vapid-keys-[\\w-]{${nameLength}}\\.json$`);

const pathOf = (directory: string, publicKey: string): string =>
  join(directory, `vapid-keys-${publicKey.slice(0, nameLength)}.json`);

/**
 * Reads all pairs. The one in `vapid-keys.json` comes first.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readKeyRing(directory: string): Promise<readonly VapidKeys[]> {
  const ring = new Map<string, VapidKeys>();
  const first = await readKeyFile(directory);
  ring.set(first.publicKey, first);
  for (const name of await listPairFiles(directory)) {
    const keys = await readPairFile(join(directory, name));
    // another process may have removed the file since the folder was listed
    if (keys !== undefined) ring.set(keys.publicKey, keys);
  }
  return [...ring.values()];
}

export async function addKeyPair(directory: string, keys: VapidKeys): Promise<void> {
  await writePairFile(pathOf(directory, keys.publicKey), keys, { replace: false });
}

/**
 * Copies this pair to `vapid-keys.json`. The former pair keeps its own file.
 *
 * @throws {DeskbellError} the same errors as `readKeyRing`
 */
export async function copyCurrentPair(directory: string, keys: VapidKeys): Promise<void> {
  const former = await readKeyFile(directory);
  if (former.publicKey === keys.publicKey) return;
  await addKeyPair(directory, former);
  await addKeyPair(directory, keys);
  await writePairFile(join(directory, vapidFileName), keys, { replace: true });
}

/** Removes the key file of a VAPID pair, which must not be the current pair. @throws {DeskbellError} ERR_FILE */
export async function removeKeyPair(directory: string, publicKey: string): Promise<void> {
  await removePrivateFile(pathOf(directory, publicKey));
}

export async function listPairFiles(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => pairFile.test(name)).toSorted();
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `The key files in ${directory} cannot be listed`, { cause });
  }
}

// Finds VAPID pairs that have subscriptions but no key file. Nothing can be sent to these subscriptions.

interface KnownKey {
  readonly publicKey: string;
  /** `retired`: the private key was removed on purpose. `undefined`: we never had this pair. */
  readonly state: 'next' | 'current' | 'previous' | 'retired' | undefined;
}

/**
 * @param counts number of subscriptions by public key
 * @param ring the pairs in the key files of the directory
 * @returns `undefined` if no key is missing
 */
export function describeMissingKeys(
  known: readonly KnownKey[],
  counts: ReadonlyMap<string, number>,
  ring: readonly Pick<VapidKeys, 'publicKey'>[],
  directory: string,
): string | undefined {
  const present = new Set(ring.map(({ publicKey }) => publicKey));
  const missing = known.flatMap(({ publicKey, state }) => {
    const subscriptions = counts.get(publicKey) ?? 0;
    const isNeeded = hasPrivateHalf(state) && (subscriptions > 0 || state === 'current');
    if (!isNeeded || present.has(publicKey)) return [];
    return `${publicKey} (${state}, ${countOf(subscriptions, 'subscription')})`;
  });
  if (missing.length === 0) return undefined;
  return (
    `No key file in ${directory} has the private half of the VAPID ${missing.length === 1 ? 'key' : 'keys'} ${missing.join(', ')}: ` +
    'without it nothing can be sent to subscriptions that were made with it.'
  );
}

const hasPrivateHalf = (state: KnownKey['state']): boolean => state !== undefined && state !== 'retired';

export const missingKeysRemedy =
  'Put the key file back from a backup or from another machine; another pair cannot send to these subscribers.';
