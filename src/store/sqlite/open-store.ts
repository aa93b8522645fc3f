// The embedded store: one SQLite file, any number of processes.
import { dirname } from 'node:path';
import { checkOptions, isFlag, isFunction, isText, type OptionChecks } from '../../errors/check-options.ts';
import { allowGroupAccess } from '../../keys/private-file.ts';
import type { Store } from '../store.ts';
import { isSubscriptionLimit, type SubscriptionLimit } from '../subscription-limit.ts';
import { createBroadcasts } from '../broadcast-control.ts';
import { createBroadcastReader } from '../broadcast-reader.ts';
import { createPeople } from '../people.ts';
import { createReceiptPruning } from '../receipts.ts';
import { createPortableRoles } from '../portable-roles.ts';
import { createRetention } from '../retention.ts';
import { createAttempts } from '../row-outcomes.ts';
import { createSqliteBroadcasts } from './broadcasts.ts';
import { createPortableDatabase } from './portable-database.ts';
import { createShrink } from './shrink.ts';
import { SqliteDatabase } from './database.ts';
import { createSqliteLedger } from './ledger.ts';
import { createSqliteReceipts } from './receipts.ts';
import { createWindowReader } from './sample-windows.ts';
import { createSqliteSubscriptions } from './subscriptions.ts';
import { createSqliteLeases } from './leases.ts';

/** Of `openSqliteStore`. */
export interface SqliteStoreOptions {
  /** The database file; created if it does not exist. Its folder must exist. */
  readonly path: string;
  /** Whether the group of the folder may use the database too, as with Kubernetes' `fsGroup`. Default: false. */
  readonly groupAccess?: boolean | undefined;
  /** The clock, milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** How many subscriptions are stored at most. Default: any number. */
  readonly subscriptionLimit?: SubscriptionLimit | undefined;
}

const sqliteChecks: OptionChecks<SqliteStoreOptions> = {
  path: isText,
  groupAccess: isFlag,
  now: isFunction,
  subscriptionLimit: isSubscriptionLimit,
};

/**
 * Opens the store in a SQLite file.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  checkOptions(options, sqliteChecks, { required: ['path'] });
  const { path, groupAccess } = options;
  if (groupAccess) allowGroupAccess(dirname(path));
  const database = await SqliteDatabase.open(options);
  const portable = createPortableDatabase(database);
  const reader = createBroadcastReader(portable);
  return {
    ...createPortableRoles(portable),
    subscriptions: createSqliteSubscriptions(database, portable, options.subscriptionLimit),
    people: createPeople(portable, createWindowReader(database)),
    attempts: createAttempts(portable),
    broadcasts: createBroadcasts(portable, reader, createSqliteBroadcasts(database)),
    leases: createSqliteLeases(database, portable, reader),
    ledger: createSqliteLedger(database, portable),
    receipts: { add: createSqliteReceipts(database), prune: createReceiptPruning(portable) },
    retention: createRetention(portable, createShrink(database)),
    address: { database: 'sqlite', options: { path, groupAccess } },
    check: () => database.check(),
    close: () => database.close(),
  };
}
