// The store in PostgreSQL, for any number of processes on any number of machines.
import {
  checkOptions,
  guardCallback,
  isFunction,
  isText,
  isWholeNumber,
  type OptionChecks,
} from '../../errors/check-options.ts';
import { createBroadcasts } from '../broadcast-control.ts';
import { createBroadcastReader } from '../broadcast-reader.ts';
import { createPortableRoles } from '../portable-roles.ts';
import { createReceiptPruning, type ReceiptStore } from '../receipts.ts';
import { createRetention } from '../retention.ts';
import type { Store } from '../store.ts';
import { isSubscriptionLimit, type SubscriptionLimit, withSearch } from '../subscriptions.ts';
import { createPostgresBroadcasts } from './broadcasts.ts';
import { clientWindows, createPostgresClientRequests } from './client-requests.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { PostgresDatabase } from './database.ts';
import { describeFunctions } from './functions/all-functions.ts';
import { keepFunctions, useFunctionsEveryMs } from './functions/use-functions.ts';
import { createPostgresLeases } from './leases.ts';
import { commitIds, createPostgresLedger } from './ledger.ts';
import { migrate } from './migrate.ts';
import { createPortableDatabase } from './portable-database.ts';
import { checkServer } from './preflight.ts';
import { createPostgresSubscriptions } from './subscriptions.ts';
import { openNotices } from './work-notices.ts';

// Receipts in PostgreSQL. Until a broadcast's window closes, each message, subscription and event has a row. The counts
// are kept.
function createPostgresReceipts(database: PostgresDatabase): ReceiptStore['add'] {
  return async (receipts) => {
    const [row] = await database.call<{ readonly result: number }>('add_receipts', [
      database.now(),
      receipts.map(({ broadcastId }) => broadcastId),
      receipts.map(({ subscriptionId }) => subscriptionId),
      receipts.map(({ event }) => event),
      // PostgreSQL cannot store NUL, and action names do not contain it
      receipts.map(({ action }) => (action?.includes('\0') === false ? action : null)),
    ]);
    return row?.result ?? 0;
  };
}

/** The options of `openPostgresStore`: the database's address, and settings for connections to the database. */
export interface PostgresStoreOptions extends ConnectionOptions {
  /** Returns milliseconds since 1970. Default: the database's clock, which all machines share. */
  readonly now?: (() => number) | undefined;
  /** How long to retry a call if the server is unavailable, in milliseconds. Default: 20 000. */
  readonly retryForMs?: number | undefined;
  /** Maximum number of stored subscriptions. Default: no limit. */
  readonly subscriptionLimit?: SubscriptionLimit | undefined;
  /** Called if the server's clock differs from this machine's, or if a migration waits for another session. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const postgresChecks: OptionChecks<PostgresStoreOptions> = {
  url: isText,
  maxConnections: isWholeNumber(1),
  connectTimeoutMs: isWholeNumber(1),
  statementTimeoutMs: isWholeNumber(1),
  now: isFunction,
  retryForMs: isWholeNumber(0),
  subscriptionLimit: isSubscriptionLimit,
  onWarning: isFunction,
};

/**
 * Opens the store in a PostgreSQL database, in the schema "deskbell", which is created if necessary.
 *
 * @throws {DeskbellError} ERR_PACKAGE_MISSING if "pg" is not installed, ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE,
 *   ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  checkOptions(options, postgresChecks, { required: ['url'] });
  const { subscriptionLimit, onWarning, ...databaseOptions } = options;
  const database = await PostgresDatabase.open(databaseOptions);
  try {
    const warn = guardCallback('onWarning', (warning: string) => onWarning?.(warning));
    await checkServer(database, warn, { isPatient: true });
    await migrate(database, undefined, undefined, warn);
    await database.clock.learn();
  } catch (error) {
    await database.close();
    throw error;
  }
  const portable = createPortableDatabase(database);
  const reader = createBroadcastReader(portable);
  const newest = describeFunctions();
  // An error of `keepFunctions` is ignored: the timer calls it again in a few hours, and other processes drop this
  // version's functions only after 30 days without use.
  const keeping = setInterval(
    () => void keepFunctions(database, newest).catch(() => {}),
    useFunctionsEveryMs,
  ).unref();
  const notices = openNotices(database, databaseOptions);
  const { now: _, ...shared } = databaseOptions;
  return {
    ...createPortableRoles(portable),
    subscriptions: withSearch(createPostgresSubscriptions(database, portable, subscriptionLimit)),
    broadcasts: createBroadcasts(portable, reader, createPostgresBroadcasts(database)),
    leases: createPostgresLeases(database, portable, notices, reader),
    ledger: createPostgresLedger(database, portable),
    receipts: { add: createPostgresReceipts(database), prune: createReceiptPruning(portable) },
    retention: createRetention(portable, async () => false, [commitIds, clientWindows]),
    clientRequests: createPostgresClientRequests(database),
    address: { database: 'postgres', options: shared },
    check: async () => checkServer(database, () => {}, { isPatient: false }),
    close: async () => {
      clearInterval(keeping);
      await notices.close();
      await database.close();
    },
  };
}
