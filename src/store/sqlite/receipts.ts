// Receipts in SQLite: a row for each message, subscription and event, as long as the broadcast's window is open, and the
// counts, which stay.
import { splitEndpoint } from '../../protocol/endpoint.ts';
import { noAction, type Receipt, type ReceiptEvent, type ReceiptStore } from '../receipts.ts';
import type { SqliteDatabase } from './database.ts';

export function createSqliteReceipts(database: SqliteDatabase): ReceiptStore['add'] {
  const statements = prepareStatements(database);

  /** @returns false if it was counted before, or is not counted at all */
  const add = ({ broadcastId, subscriptionId, event, action }: Receipt): boolean => {
    const window = statements.findWindow.first({ broadcastId, nowMs: database.now() });
    const subscription = statements.findSubscription.first({ subscriptionId });
    if (window === undefined || subscription === undefined) return false;
    if (statements.add.run({ broadcastId, subscriptionId, event }) === 0) return false;
    const actions = JSON.parse(window.receipt_actions) as readonly string[];
    const isOnAction = event === 'clicked' && action !== undefined && actions.includes(action);
    statements.count.run({
      broadcastId,
      origin: splitEndpoint(subscription.endpoint).origin,
      event,
      action: isOnAction ? action : noAction,
    });
    return true;
  };

  return (receipts) => database.write(() => receipts.filter(add).length);
}

function prepareStatements(database: SqliteDatabase) {
  return {
    findWindow: database.prepare<{ broadcastId: number; nowMs: number }, { receipt_actions: string }>(`
        select b.receipt_actions
        from receipt_windows w join broadcasts b on b.id = w.broadcast_id
        where w.broadcast_id = :broadcastId and w.ends_at_ms > :nowMs
      `),
    findSubscription: database.prepare<{ subscriptionId: number }, { endpoint: string }>(
      'select endpoint from subscriptions where id = :subscriptionId',
    ),
    add: database.prepare<{ broadcastId: number; subscriptionId: number; event: ReceiptEvent }>(`
        insert or ignore into receipts (broadcast_id, subscription_id, event)
        values (:broadcastId, :subscriptionId, :event)
      `),
    count: database.prepare<{ broadcastId: number; origin: string; event: ReceiptEvent; action: string }>(`
        insert into receipt_counts (broadcast_id, origin, event, action, count)
        values (:broadcastId, :origin, :event, :action, 1)
        on conflict (broadcast_id, origin, event, action, shard) do update set count = count + 1
      `),
  };
}
