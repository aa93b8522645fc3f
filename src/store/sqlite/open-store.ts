// The embedded store: one SQLite file for any number of processes.
import { dirname } from 'node:path';
import { checkOptions, isFlag, isFunction, isText, type OptionChecks } from '../../errors/check-options.ts';
import { allowGroupAccess } from '../../keys/private-file.ts';
import { createBroadcasts } from '../broadcast-control.ts';
import { createBroadcastReader } from '../broadcast-reader.ts';
import { createPortableRoles } from '../portable-roles.ts';
import { createReceiptPruning, noAction, type Receipt, type ReceiptStore } from '../receipts.ts';
import { createRetention } from '../retention.ts';
import type { Store } from '../store.ts';
import { isSubscriptionLimit, type SubscriptionLimit, withSearch } from '../subscriptions.ts';
import { createSqliteBroadcasts } from './broadcasts.ts';
import { SqliteDatabase } from './database.ts';
import { createSqliteLeases } from './leases.ts';
import { createSqliteLedger } from './ledger.ts';
import { createPortableDatabase } from './portable-database.ts';
import { createSqliteSubscriptions } from './subscriptions.ts';

// Receipts in SQLite. While a broadcast's receipts are accepted, each event that a subscription reported has a row, so
// that it is counted once. The counts are kept afterwards.
function createSqliteReceipts(database: SqliteDatabase): ReceiptStore['add'] {
  /** @returns false if the receipt was counted before or must not be counted */
  const add = ({ broadcastId, subscriptionId, event, action }: Receipt): boolean => {
    const receipt = { broadcastId, subscriptionId, event };
    const added = database.run(
      `insert into receipts (broadcast_id, subscription_id, event)
       select w.broadcast_id, s.id, :event from receipt_windows w join subscriptions s on s.id = :subscriptionId
       where w.broadcast_id = :broadcastId and w.ends_at_ms > :nowMs
       on conflict do nothing`,
      { ...receipt, nowMs: database.now() },
    );
    if (added === 0) return false;
    database.run(
      `insert into receipt_counts (broadcast_id, origin, event, action, count)
       select b.id, substr(s.endpoint, 1, instr(substr(s.endpoint, 9), '/') + 7), :event,
         iif(:event = 'clicked' and exists (select 1 from json_each(b.receipt_actions) where value = :action),
             :action, :noAction), 1
       from broadcasts b join subscriptions s on s.id = :subscriptionId where b.id = :broadcastId
       on conflict (broadcast_id, origin, event, action, shard) do update set count = count + 1`,
      { ...receipt, action: action ?? null, noAction },
    );
    return true;
  };

  return (receipts) => database.write(() => receipts.filter(add).length);
}

// Returns free pages to the disk. This needs `auto_vacuum = incremental`, set when a database is created or restored.

/** A transaction with this many pages takes a few milliseconds. */
const shrinkBatchPages = 256;
/** Number of free pages to keep for the next writes. */
const sparePages = 1024;
/** The value of `pragma auto_vacuum` for this mode. */
const incremental = 2;

/** @returns whether there may be more */
function createShrink(database: SqliteDatabase): () => Promise<boolean> {
  const freePages = (): number =>
    database.first<{ freelist_count: number }>('pragma freelist_count')!.freelist_count;
  return () =>
    database.write(() => {
      const mode = database.first<{ auto_vacuum: number }>('pragma auto_vacuum');
      if (mode?.auto_vacuum !== incremental || freePages() <= sparePages) return false;
      database.all(`pragma incremental_vacuum(${shrinkBatchPages})`);
      return freePages() > sparePages;
    });
}

/** `openSqliteStore` takes these options. */
export interface SqliteStoreOptions {
  /** The database file. It is created if it does not exist; its folder must exist. */
  readonly path: string;
  /** Whether the folder's group may use the database too, as with Kubernetes' `fsGroup`. Default: false. */
  readonly groupAccess?: boolean | undefined;
  /** Returns milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** Maximum number of stored subscriptions. Default: no limit. */
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
    subscriptions: withSearch(createSqliteSubscriptions(database, portable, options.subscriptionLimit)),
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
