// The folder that holds all of an installation: the VAPID pair, the session and receipt keys, and the database, unless that is
// PostgreSQL: this is the one place that decides it.
import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
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
import { isSubscriptionLimit } from '../../store/subscription-limit.ts';

/** An open data directory: its store and its keys. */
export interface DataDirectory {
  /** The database file, for a connection of your own; `undefined` where the database is PostgreSQL. */
  readonly databasePath: string | undefined;
  readonly store: Store;
  readonly vapidKeys: DataDirectoryKeys;
  /** 32 bytes. */
  readonly sessionKey: Uint8Array;
  /** 32 bytes: for `createSender` and the service, where browsers report on notifications. */
  readonly receiptKey: Uint8Array;
  /** 32 bytes: signs subscriber tokens (HS256). It is created with the first call. */
  subscriberTokenKey(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The current pair; all of it is for `createSender`, as `vapid: { ...vapidKeys, subject }`. */
export interface DataDirectoryKeys extends VapidKeys {
  /** The other pairs of the directory. */
  readonly previousKeys: readonly VapidKeys[];
  /** The directory, where a running sender finds pairs that are made later. */
  readonly keyDirectory: string;
}

/** Of `openDataDirectory`. */
export interface DataDirectoryOptions {
  /** How many subscriptions are stored at most. Default: any number. */
  readonly subscriptionLimit?: SqliteStoreOptions['subscriptionLimit'];
  /** Whether the group of the directory may use it too, as with Kubernetes' `fsGroup`. Default: false. */
  readonly groupAccess?: boolean | undefined;
  /** URL of a PostgreSQL database, which is used instead of the file. Needs the package `pg`. */
  readonly database?: string | undefined;
  /** Told of a PostgreSQL server whose clock differs from this machine's. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const dataDirectoryChecks: OptionChecks<DataDirectoryOptions> = {
  subscriptionLimit: isSubscriptionLimit,
  groupAccess: isFlag,
  database: isText,
  onWarning: isFunction,
};

/** The database's place in a data directory. */
export function databasePathOf(directory: string): string {
  return join(directory, 'deskbell.db');
}

/** The place of the example API's users in a data directory. */
export function exampleUsersPathOf(directory: string): string {
  return join(directory, 'example-users.db');
}

/**
 * Opens a data directory. At the first run it is created with all that it holds (mode 0700).
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_KEY_FILE_MISSING where a database exists without its key file, ERR_KEY_FILE_CORRUPT,
 *   ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED, ERR_FILE, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW,
 *   ERR_PACKAGE_MISSING
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
  // the pair comes first, so that a first run cut short never leaves a database file without one
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

/** A pair is made only where no subscription can be lost by it. */
function readPair(directory: string, isFirstRun: boolean): Promise<VapidKeys> {
  return isFirstRun ? loadOrCreateKeyFile(directory) : readKeyFile(directory);
}

/** The database says which pair is current; a rotation that was cut short may have left the copy of another one. */
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

/** @throws {DeskbellError} ERR_STORE_UNAVAILABLE */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    await makeFolders(directory);
  } catch (cause) {
    throw new DeskbellError('ERR_STORE_UNAVAILABLE', `The data directory ${directory} cannot be created`, {
      cause,
    });
  }
}

/** With its own option for this, Node never ends in a folder where no folder can be made, such as /proc. */
async function makeFolders(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (cause) {
    if (existsSync(path) && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(parent)) throw cause;
    await makeFolders(parent);
    await makeFolders(path);
  }
}
