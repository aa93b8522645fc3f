// Receipts in PostgreSQL: a row for each message, subscription and event, as long as the broadcast's window is open, and the
// counts, which stay.
import type { ReceiptStore } from '../receipts.ts';
import type { PostgresDatabase } from './database.ts';

/** Some milliseconds of one statement. */
const pruneBatchRows = 5000;

/** @param functions the schema of the database's functions */
export function createPostgresReceipts(database: PostgresDatabase, functions: string): ReceiptStore {
  return {
    add: async (receipts) => {
      const row = await database.first<{ readonly added: number }>(
        `select ${functions}.add_receipts($1, $2, $3, $4, $5) as added`,
        [
          database.now(),
          receipts.map(({ broadcastId }) => broadcastId),
          receipts.map(({ subscriptionId }) => subscriptionId),
          receipts.map(({ event }) => event),
          receipts.map(({ action = null }) => action),
        ],
      );
      return row?.added ?? 0;
    },

    prune: async () => {
      const ended = await database.first<{ readonly broadcast_id: number }>(
        `select broadcast_id from deskbell.receipt_windows where ends_at_ms <= ${functions}.clock($1) limit 1`,
        [database.now()],
      );
      if (ended === undefined) return false;
      const dropped = await database.run(
        `delete from deskbell.receipts where (broadcast_id, subscription_id, event) in (
           select broadcast_id, subscription_id, event from deskbell.receipts where broadcast_id = $1 limit $2)`,
        [ended.broadcast_id, pruneBatchRows],
      );
      if (dropped < pruneBatchRows) {
        await database.run('delete from deskbell.receipt_windows where broadcast_id = $1', [
          ended.broadcast_id,
        ]);
      }
      return true;
    },
  };
}
