// The folder of an installation: the VAPID pair, the session and receipt keys, and the database, unless PostgreSQL is
// used. Only this file decides between SQLite and PostgreSQL.
import { existsSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkOptions, isFlag, isFunction, isText, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { VapidKeys } from '../../protocol/vapid.ts';
import { allowGroupAccess } from '../../keys/private-file.ts';
import {
  copyCurrentPair,
  loadOrCreateKeyFile,
  readKeyFile,
  readKeyRing,
} from '../../keys/vapid-key-files.ts';
import { loadOrCreateSecret } from '../../keys/secret-files.ts';
import type { SqliteStoreOptions } from '../../store/sqlite/open-store.ts';
import type { Store } from '../../store/store.ts';
import { isSubscriptionLimit } from '../../store/subscriptions.ts';

/** An open data directory, with its store and keys. */
export interface DataDirectory {
  /** The database file, for your own connection; `undefined` if PostgreSQL is used. */
  readonly databasePath: string | undefined;
  readonly store: Store;
  readonly vapidKeys: DataDirectoryKeys;
  /** 32 bytes. */
  readonly sessionKey: Uint8Array;
  /** 32 bytes. If you pass this key to both `createSender` and the service, browsers can send receipts. */
  readonly receiptKey: Uint8Array;
  /** The key that signs subscriber tokens (HS256): 32 bytes, created by the first call. */
  subscriberTokenKey(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The current key pair. Pass the whole object to `createSender`, as `vapid: { ...vapidKeys, subject }`. */
export interface DataDirectoryKeys extends VapidKeys {
  /** The directory's other pairs. */
  readonly previousKeys: readonly VapidKeys[];
  /** The directory in which a running sender finds pairs that are created later. */
  readonly keyDirectory: string;
}

/** `openDataDirectory` takes these options. */
export interface DataDirectoryOptions {
  /** Maximum number of stored subscriptions. Default: no limit. */
  readonly subscriptionLimit?: SqliteStoreOptions['subscriptionLimit'];
  /** Whether the group that owns the directory may also use it, as with Kubernetes' `fsGroup`. Default: false. */
  readonly groupAccess?: boolean | undefined;
  /** URL of a PostgreSQL database to use instead of the file. Needs the package `pg`. */
  readonly database?: string | undefined;
  /** Called if the PostgreSQL server's clock differs from this machine's. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const dataDirectoryChecks: OptionChecks<DataDirectoryOptions> = {
  subscriptionLimit: isSubscriptionLimit,
  groupAccess: isFlag,
  database: isText,
  onWarning: isFunction,
};

export function databasePathOf(directory: string): string {
  return join(directory, 'deskbell.db');
}

/** The database of the example API's users. */
export function exampleUsersPathOf(directory: string): string {
  return join(directory, 'example-users.db');
}

/**
 * Opens a data directory. The first run creates the directory (mode 0700) and its contents.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_KEY_FILE_MISSING if a database exists without its key file,
 *   ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT,
 *   ERR_STORE_TOO_NEW, ERR_PACKAGE_MISSING
 */
export async function openDataDirectory(
  directory: string,
  options: DataDirectoryOptions = {},
): Promise<DataDirectory> {
  isText(directory, 'directory');
  checkOptions(options, dataDirectoryChecks);
  if (options.groupAccess) allowGroupAccess(directory);
  await makeDirectory(directory);
  const databasePath = options.database === undefined ? databasePathOf(directory) : undefined;
  // create the pair first, so that an interrupted first run never leaves a database without a pair
  if (databasePath !== undefined) await readPair(directory, !existsSync(databasePath));
  const sessionKey = await loadOrCreateSecret(directory, 'session-key');
  const receiptKey = await loadOrCreateSecret(directory, 'receipt-key');
  const store = await openStore(directory, options);
  try {
    const pair = await readPair(directory, (await store.vapidKeys.current()) === undefined);
    const vapidKeys = await readKeys(directory, await store.vapidKeys.adopt(pair.publicKey));
    return {
      databasePath,
      store,
      vapidKeys,
      sessionKey,
      receiptKey,
      subscriberTokenKey: () => loadOrCreateSecret(directory, 'subscriber-token-key'),
      close: () => store.close(),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** @throws {DeskbellError} as `openDataDirectory` does */
export async function openStore(
  directory: string,
  { database, subscriptionLimit, groupAccess, onWarning }: DataDirectoryOptions,
): Promise<Store> {
  if (database === undefined) {
    const { openSqliteStore } = await import('../../store/sqlite/open-store.ts');
    return openSqliteStore({ path: databasePathOf(directory), subscriptionLimit, groupAccess });
  }
  const { openPostgresStore } = await import('../../store/postgres/open-store.ts');
  return openPostgresStore({ url: database, subscriptionLimit, onWarning });
}

/** Creates a pair only on the first run. Later, a new pair would lose all subscriptions. */
function readPair(directory: string, isFirstRun: boolean): Promise<VapidKeys> {
  return isFirstRun ? loadOrCreateKeyFile(directory) : readKeyFile(directory);
}

/** Only the database knows which pair is current. After an interrupted rotation, the copied pair may be outdated. */
async function readKeys(keyDirectory: string, current: string): Promise<DataDirectoryKeys> {
  const ring = await readKeyRing(keyDirectory);
  const pair = ring.find(({ publicKey }) => publicKey === current);
  if (pair === undefined) {
    throw new DeskbellError(
      'ERR_KEY_FILE_MISSING',
      `No key file in ${keyDirectory} has the private half of the current key ${current}.`,
    );
  }
  await copyCurrentPair(keyDirectory, pair);
  return { ...pair, previousKeys: ring.filter((keys) => keys !== pair), keyDirectory };
}

/** Makes Git ignore a new directory, since it will hold private keys. @throws {DeskbellError} ERR_STORE_UNAVAILABLE */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    if (await makeFolders(directory)) {
      await writeFile(join(directory, '.gitignore'), '*\n', { mode: 0o600 });
    }
  } catch (cause) {
    throw new DeskbellError('ERR_STORE_UNAVAILABLE', `The data directory ${directory} cannot be created`, {
      cause,
    });
  }
}

/**
 * Creates a folder and its parents. Node's `recursive` option never returns where no folder can be made, as in /proc.
 *
 * @returns whether the last folder was made
 */
async function makeFolders(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (cause) {
    if (existsSync(path) && (await stat(path)).isDirectory()) return false;
    const parent = dirname(path);
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(parent)) throw cause;
    await makeFolders(parent);
    return makeFolders(path);
  }
}
