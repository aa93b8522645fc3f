// Receipts in PostgreSQL: a row for each message, subscription and event, as long as the broadcast's window is open, and the
// counts, which stay.
import type { ReceiptStore } from '../receipts.ts';
import type { PostgresDatabase } from './database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresReceipts(database: PostgresDatabase, functions: string): ReceiptStore['add'] {
  return async (receipts) => {
    const row = await database.first<{ readonly added: number }>(
      `select ${functions}.add_receipts($1, $2, $3, $4, $5) as added`,
      [
        database.now(),
        receipts.map(({ broadcastId }) => broadcastId),
        receipts.map(({ subscriptionId }) => subscriptionId),
        receipts.map(({ event }) => event),
        // no name of an action has a NUL, which PostgreSQL does not store
        receipts.map(({ action }) => (action?.includes('\0') === false ? action : null)),
      ],
    );
    return row?.added ?? 0;
  };
}
