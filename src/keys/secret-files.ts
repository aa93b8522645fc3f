// The secret files of a data directory, and functions that read and write all of them for backup and restore.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodeBase64, encodeBase64url } from '../protocol/bytes.ts';
import { readPrivateFile, unusableError, writePrivateFile } from './private-file.ts';
import { listPairFiles, pairAdvice, pairFile, vapidFileName } from './vapid-key-files.ts';

const secretBytes = 32;

/** Files that each hold one secret of `secretBytes` bytes in base64url, and what happens if the file is lost. */
const secretLosses = {
  /** Encrypts session cookies of the demonstration API, and hashes people's names in the audit. */
  'session-key': 'all sessions end, except those of the console, and the audit names people by other hashes',
  'receipt-key': 'receipts of messages that were sent before are refused',
  /** Signs subscriber tokens (HS256). */
  'subscriber-token-key': 'subscriber tokens are refused until your backend has the new one',
  /** Signs the webhook's requests. */
  'webhook-secret': 'receivers of the webhook refuse its events until they have the new one',
} as const;

type SecretFileName = keyof typeof secretLosses;

export const secretFileNames = Object.keys(secretLosses) as readonly SecretFileName[];

export const adviceFor = (name: string): string =>
  name in secretLosses
    ? `Restore it from a backup, or delete it: a new one is made then, and ${secretLosses[name as SecretFileName]}.`
    : pairAdvice;

export interface SecretFile {
  readonly name: string;
  readonly text: string;
}

const fixedNames: readonly string[] = [vapidFileName, ...secretFileNames];

export const isSecretFile = (name: string): boolean => fixedNames.includes(name) || pairFile.test(name);

/**
 * Reads all secrets that exist. A rotation writes the former pair to its own file before it replaces `vapid-keys.json`.
 * So no pair is missed if `vapid-keys.json` is read before the other key files are listed.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_EXPOSED, ERR_KEY_FILE_CORRUPT, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function readSecretFiles(directory: string): Promise<readonly SecretFile[]> {
  const fixed = await readFiles(directory, fixedNames);
  return [...fixed, ...(await readFiles(directory, await listPairFiles(directory)))];
}

async function readFiles(directory: string, names: readonly string[]): Promise<readonly SecretFile[]> {
  const texts = await Promise.all(
    names.map((name) => readPrivateFile(join(directory, name), adviceFor(name))),
  );
  return names.flatMap((name, index) => {
    const text = texts[index];
    return text === undefined ? [] : [{ name, text }];
  });
}

/** @throws {DeskbellError} ERR_KEY_FILE_EXISTS if a file exists with different content, ERR_FILE */
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

/**
 * Reads a secret of 32 bytes, or creates it if there is none. `secretLosses` says what a new secret invalidates.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE
 */
export async function loadOrCreateSecret(directory: string, name: SecretFileName): Promise<Uint8Array> {
  const existing = await readSecret(directory, name);
  if (existing !== undefined) return existing;
  const created = randomBytes(secretBytes);
  const text = `${encodeBase64url(created)}\n`;
  const isWritten = await writePrivateFile(join(directory, name), text, { replace: false });
  return isWritten ? created : ((await readSecret(directory, name)) ?? created);
}

/** @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_DATA_OWNER, ERR_FILE */
async function readSecret(directory: string, name: SecretFileName): Promise<Uint8Array | undefined> {
  const path = join(directory, name);
  const text = await readPrivateFile(path, adviceFor(name));
  if (text === undefined) return undefined;
  const key = decodeBase64(text.trim());
  if (key?.length === secretBytes) return key;
  throw unusableError(path, `it does not hold ${secretBytes} bytes of base64url.`, adviceFor(name));
}

/**
 * Checks every secret that exists.
 *
 * @throws {DeskbellError} ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_DATA_OWNER, ERR_FILE
 */
export async function checkSecrets(directory: string): Promise<void> {
  for (const name of secretFileNames) await readSecret(directory, name);
}

// Operators' tokens are 32 random bytes, of which only the SHA-256 is stored. Only guessable secrets need a slow hash.

/** Shows people, and scanners for leaked secrets, that this is a token. */
const prefix = 'deskbell_op_';

/** @returns the token, which is shown only once, and the hash to store */
export function generateOperatorToken(): { readonly token: string; readonly tokenHash: Uint8Array } {
  const token = `${prefix}${randomBytes(32).toString('base64url')}`;
  return { token, tokenHash: hashOperatorToken(token) };
}

export function hashOperatorToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}
