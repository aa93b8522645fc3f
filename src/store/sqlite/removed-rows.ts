// Counts rows of broadcasts in SQLite whose subscription has left the store before their turn: where the cursor of a slice passes
// the places of subscriptions that were not found there, and where a retry has nobody to be sent to.
import type { PageOfSlice, RowResult } from '../ledger.ts';
import type { SqliteDatabase } from './database.ts';

/** Everything here is to be called inside a transaction. */
export interface RemovedRows {
  add(broadcastId: number, rows: number): void;
  /** @param rows all that were read of the page */
  countPassed(broadcastId: number, page: PageOfSlice, rows: readonly RowResult[]): void;
}

export function createRemovedRows(database: SqliteDatabase): RemovedRows {
  const insert = database.prepare<{ broadcastId: number; rows: number }>(`
    insert into removed_rows as c (broadcast_id, shard, rows) values (:broadcastId, 0, :rows)
    on conflict (broadcast_id, shard) do update set rows = c.rows + excluded.rows
  `);
  const findAudience = database.prepare<{ broadcastId: number }, { rows_in: string; removals_after: number }>(
    'select rows_in, removals_after from broadcasts where id = :broadcastId',
  );
  const findRemovals = database.prepare<
    { removalsAfter: number; fromCursor: number; cursor: number },
    { id: number }
  >(`
    select subscription_id as id from removals
    where subscription_id > :fromCursor and subscription_id <= :cursor and id > :removalsAfter
  `);

  const countOf = (
    broadcastId: number,
    { fromCursor, cursor, missing }: PageOfSlice,
    rows: readonly RowResult[],
  ): number => {
    if (missing !== undefined) return missing;
    const audience = findAudience.first({ broadcastId });
    // of a list, each position was a member's
    if (audience?.rows_in === 'list') return cursor - fromCursor - rows.length;
    const removalsAfter = audience?.removals_after ?? Number.MAX_SAFE_INTEGER;
    const removals = findRemovals.all({ removalsAfter, fromCursor, cursor });
    if (removals.length === 0) return 0;
    const read = new Set(rows.map(({ recipient }) => recipient.position));
    return removals.filter(({ id }) => !read.has(id)).length;
  };

  const add: RemovedRows['add'] = (broadcastId, rows) => {
    if (rows !== 0) insert.run({ broadcastId, rows });
  };

  return {
    add,
    countPassed: (broadcastId, page, rows) => add(broadcastId, countOf(broadcastId, page, rows)),
  };
}
