// The attempt log: what was tried, when, and what came of it. It is bounded, and holds nothing that is secret.
import { attemptLogLimits } from '../attempt-log.ts';
import type { RowResult } from '../ledger.ts';
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';

const { maxAcceptedPerBroadcast, maxOthersPerBroadcast, maxLoggedBroadcasts } = attemptLogLimits;

/** How much of a broadcast has been logged. */
export interface Logged {
  accepted: number;
  others: number;
}

export interface AttemptLog {
  /** Adds an attempt as long as there is room, and counts it in `logged`. Inside a transaction. */
  add(
    broadcastId: number,
    row: Pick<RowResult, 'recipient' | 'origin'>,
    record: NonNullable<RowResult['record']>,
    logged: Logged,
  ): void;
  /** Drops what belongs to old broadcasts. Inside a transaction. */
  prune(): void;
}

export function createAttemptLog(database: SqliteDatabase): AttemptLog {
  const insert = database.prepare<ReturnType<typeof toValues>>(`
      insert into attempts
        (broadcast_id, subscription_id, at_ms, origin, attempt, outcome, status, reason, detail)
      values
        (:broadcastId, :subscriptionId, :atMs, :origin, :attempt, :outcome, :status, :reason, :detail)
    `);
  const prune = database.prepare<NoValues>(`
      delete from attempts where broadcast_id <=
        (select id from broadcasts order by id desc limit 1 offset ${maxLoggedBroadcasts})
    `);

  return {
    add: (broadcastId, { recipient, origin }, record, logged) => {
      const kind = record.outcome === 'accepted' ? 'accepted' : 'others';
      if (logged[kind] >= (kind === 'accepted' ? maxAcceptedPerBroadcast : maxOthersPerBroadcast)) return;
      logged[kind] += 1;
      insert.run(toValues(broadcastId, recipient.subscriptionId, origin, record));
    },
    prune: () => {
      prune.run({});
    },
  };
}

const toValues = (
  broadcastId: number,
  subscriptionId: number | undefined,
  origin: string,
  { atMs, attempt, outcome, status, reason, detail }: NonNullable<RowResult['record']>,
) => ({
  broadcastId,
  subscriptionId: subscriptionId ?? null,
  atMs,
  origin,
  attempt,
  outcome,
  status: status ?? null,
  reason: reason ?? null,
  detail: detail ?? null,
});
