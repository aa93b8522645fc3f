// What came of rows, as a commit stores it in SQLite.
import { createAttemptGatherer, type AttemptSet, type StoredAnswer } from '../attempt-sets.ts';
import type { RowResult } from '../ledger.ts';
import type { SqliteDatabase } from './database.ts';

/** @returns a function to be called inside a transaction */
export function createAttemptWriter(
  database: SqliteDatabase,
): (broadcastId: number, rows: readonly RowResult[], nowMs: number) => void {
  const gather = createAttemptGatherer();
  const addAnswer = database.prepare<Nullable<Omit<StoredAnswer, 'rows'>> & { broadcastId: number }>(`
    insert into answers (broadcast_id, id, origin, outcome, status, reason, detail)
    values (:broadcastId, :id, :origin, :outcome, :status, :reason, :detail)
    on conflict do nothing
  `);
  const countAnswer = database.prepare<{ broadcastId: number; id: number; rows: number; nowMs: number }>(`
    insert into answer_counts (broadcast_id, answer_id, rows, last_at_ms) values (:broadcastId, :id, :rows, :nowMs)
    on conflict (broadcast_id, answer_id, shard) do update set
      rows = rows + excluded.rows, last_at_ms = excluded.last_at_ms
  `);
  const addSet = database.prepare<
    Nullable<AttemptSet> & { broadcastId: number; nowMs: number; sinceMs: number }
  >(`
    insert into attempt_sets
      (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
    values
      (:broadcastId, :nowMs, :sinceMs, :outcome, :attempt, :answerId, :firstId, :lastId, :rows, :ids)
  `);

  return (broadcastId, rows, nowMs) => {
    const { answers, sets } = gather(broadcastId, rows);
    for (const { rows: counted, status, reason, detail, ...answer } of answers) {
      addAnswer.run({
        ...answer,
        broadcastId,
        status: status ?? null,
        reason: reason ?? null,
        detail: detail ?? null,
      });
      if (counted > 0) countAnswer.run({ broadcastId, id: answer.id, rows: counted, nowMs });
    }
    for (const { sinceMs = nowMs, ...set } of sets) addSet.run({ ...set, broadcastId, nowMs, sinceMs });
  };
}

/** As SQLite takes what may be absent. */
type Nullable<Row> = {
  [Name in keyof Row]-?: undefined extends Row[Name] ? Exclude<Row[Name], undefined> | null : Row[Name];
};
