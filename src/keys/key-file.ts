// The secrets beside the database: the current VAPID pair, the key of the session cookies and that of receipts. None is ever
// replaced silently: a new pair would lose every subscriber. All pairs of a data directory: key-ring.ts.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodeBase64, encodeBase64url } from '../protocol/base64.ts';
import { checkVapidKeys, generateVapidKeys, type VapidKeys } from '../protocol/vapid-token.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/** `{"publicKey": "…", "privateKey": "…"}`, as other web push tools write it. */
export const vapidFileName = 'vapid-keys.json';
const pairAdvice = 'Restore it from a backup; a new pair would lose every subscriber.';
const secretBytes = 32;

/** The other files, each of which holds `secretBytes` in base64url, with what is lost where a new one is made. */
const secretLosses = {
  /** Seals session cookies. */
  'session-key': 'all sessions end',
  /** Makes the tokens of receipts. */
  'receipt-key': 'receipts of messages that were sent before are refused',
  /** Signs subscriber tokens (HS256). */
  'subscriber-token-key': 'subscriber tokens are refused until your backend has the new one',
  /** Signs what the operator's webhook sends. */
  'webhook-secret': 'receivers of the webhook refuse its events until they have the new one',
} as const;

type SecretFileName = keyof typeof secretLosses;

export const secretFileNames = Object.keys(secretLosses) as readonly SecretFileName[];

/** What to do where the file cannot be used. */
export const adviceFor = (name: string): string =>
  name in secretLosses
    ? `Restore it from a backup, or delete it: a new one is made then, and ${secretLosses[name as SecretFileName]}.`
    : pairAdvice;

/**
 * Reads the VAPID pair of a data directory.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readKeyFile(directory: string): Promise<VapidKeys> {
  const keys = await readPair(directory);
  if (keys !== undefined) return keys;
  throw new DeskbellError('ERR_KEY_FILE_MISSING', `There is no key file ${join(directory, vapidFileName)}.`);
}

/**
 * Reads the VAPID pair; creates one where there is none. To be called only where no subscription can be lost by it.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function loadOrCreateKeyFile(directory: string): Promise<VapidKeys> {
  const existing = await readPair(directory);
  if (existing !== undefined) return existing;
  const created = generateVapidKeys();
  const isWritten = await writePairFile(join(directory, vapidFileName), created, { replace: false });
  return isWritten ? created : readKeyFile(directory);
}

/**
 * Writes a VAPID pair.
 *
 * @param options `force`: replaces the pair that is there, and so loses its subscribers
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
 * Reads a secret of 32 bytes; creates one where there is none, which loses what `secretLosses` says and nothing else.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function loadOrCreateSecret(directory: string, name: SecretFileName): Promise<Uint8Array> {
  const created = randomBytes(secretBytes);
  const isMade = async () =>
    writePrivateFile(join(directory, name), `${encodeBase64url(created)}\n`, { replace: false });
  const key = (await readSecret(directory, name)) ?? ((await isMade()) ? created : undefined);
  return key ?? (await readSecret(directory, name)) ?? created;
}

/** @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_DATA_OWNER, ERR_FILE */
async function readSecret(directory: string, name: SecretFileName): Promise<Uint8Array | undefined> {
  const path = join(directory, name);
  const text = await readPrivateFile(path, adviceFor(name));
  if (text === undefined) return undefined;
  const key = decodeBase64(text.trim());
  if (key?.length === secretBytes) return key;
  throw corrupt(path, `it does not hold ${secretBytes} bytes of base64url.`, adviceFor(name));
}

/**
 * Reads every secret that is there, as whoever uses it does. Those that are missing are made when they are first needed.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_DATA_OWNER, ERR_FILE
 */
export async function checkSecrets(directory: string): Promise<void> {
  for (const name of secretFileNames) await readSecret(directory, name);
}

async function readPair(directory: string): Promise<VapidKeys | undefined> {
  return readPairFile(join(directory, vapidFileName));
}

/**
 * Reads a pair from a file of its own.
 *
 * @returns `undefined` where there is no such file
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readPairFile(path: string): Promise<VapidKeys | undefined> {
  const text = await readPrivateFile(path, pairAdvice);
  return text === undefined ? undefined : parsePair(text, path);
}

/**
 * Writes a pair to a file of its own.
 *
 * @returns false where the file is there and may not be replaced
 * @throws {DeskbellError} ERR_FILE
 */
export function writePairFile(
  path: string,
  keys: VapidKeys,
  options: { readonly replace: boolean },
): Promise<boolean> {
  return writePrivateFile(path, toText(keys), options);
}

function parsePair(text: string, path: string): VapidKeys {
  try {
    const { publicKey, privateKey } = JSON.parse(text) as VapidKeys;
    checkVapidKeys({ publicKey, privateKey });
    return { publicKey, privateKey };
  } catch (error) {
    // the parser's message would quote the file
    if (error instanceof DeskbellError) throw corrupt(path, error.message, pairAdvice, error);
    throw corrupt(path, 'it is not JSON with publicKey and privateKey; it may be half-written.', pairAdvice);
  }
}

function corrupt(path: string, reason: string, advice: string, cause?: Error): DeskbellError {
  const detail = `The key file ${path} cannot be used: ${reason} ${advice}`;
  return new DeskbellError('ERR_KEY_FILE_CORRUPT', detail, { cause });
}

function toText(keys: VapidKeys): string {
  return `${JSON.stringify({ publicKey: keys.publicKey, privateKey: keys.privateKey })}\n`;
}
