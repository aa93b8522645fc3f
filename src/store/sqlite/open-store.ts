// The embedded store: one SQLite file, any number of processes.
import { checkOptions, isFunction, isText, type OptionChecks } from '../../errors/check-options.ts';
import type { Store } from '../store.ts';
import { isSubscriptionLimit, type SubscriptionLimit } from '../subscription-limit.ts';
import { createAudit } from '../audit.ts';
import { createEndedSubscriptions } from '../ended-subscriptions.ts';
import { createHeldDeletions } from '../held-deletions.ts';
import { createMessageRequests } from '../message-requests.ts';
import { createOperators } from '../operators.ts';
import { createReceiptPruning } from '../receipts.ts';
import { createRetention } from '../retention.ts';
import { createSchedules } from '../schedules.ts';
import { createSenders } from '../senders.ts';
import { createSending } from '../sending.ts';
import { createStatistics } from '../statistics.ts';
import { createVapidKeys } from '../vapid-keys.ts';
import { createWebhookOutbox } from '../webhook-outbox.ts';
import { createSqliteBroadcasts } from './broadcasts.ts';
import { createPortableDatabase } from './portable-database.ts';
import { createShrink } from './shrink.ts';
import { SqliteDatabase } from './database.ts';
import { createSqliteLedger } from './ledger.ts';
import { createSqliteRateShares } from './rate-shares.ts';
import { createSqliteReceipts } from './receipts.ts';
import { createSqlitePeople } from './people.ts';
import { createSqliteSubscriptions } from './subscriptions.ts';
import { createSqliteLeases } from './leases.ts';

/** Of `openSqliteStore`. */
export interface SqliteStoreOptions {
  /** The database file; created if it does not exist. Its folder must exist. */
  readonly path: string;
  /** The clock, milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** How many subscriptions are stored at most. Default: any number. */
  readonly subscriptionLimit?: SubscriptionLimit | undefined;
}

const sqliteChecks: OptionChecks<SqliteStoreOptions> = {
  path: isText,
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
  const database = await SqliteDatabase.open(options);
  const portable = createPortableDatabase(database);
  return {
    now: database.now,
    subscriptions: createSqliteSubscriptions(database, options.subscriptionLimit),
    people: createSqlitePeople(database),
    broadcasts: createSqliteBroadcasts(database),
    schedules: createSchedules(portable),
    sending: createSending(portable),
    leases: createSqliteLeases(database),
    ledger: createSqliteLedger(database),
    rates: createSqliteRateShares(database),
    heldDeletions: createHeldDeletions(portable),
    ended: createEndedSubscriptions(portable),
    vapidKeys: createVapidKeys(portable),
    statistics: createStatistics(portable),
    receipts: { add: createSqliteReceipts(database), prune: createReceiptPruning(portable) },
    messageRequests: createMessageRequests(portable),
    operators: createOperators(portable),
    audit: createAudit(portable),
    senders: createSenders(portable),
    retention: createRetention(portable, createShrink(database)),
    webhooks: createWebhookOutbox(portable),
    address: { moduleUrl: import.meta.url, options: { path: options.path } satisfies SqliteStoreOptions },
    check: () => database.check(),
    close: () => database.close(),
  };
}

/** For other threads, by `Store.address`. */
export const openStore = openSqliteStore;
