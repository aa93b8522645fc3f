// The attempt log: what was tried, when, and what came of it. It is bounded, and holds nothing that is secret.
import { attemptLogLimits } from '../attempt-log.ts';
import type { AttemptRecord, BroadcastStore } from '../broadcasts.ts';
import type { RowResult } from '../ledger.ts';
import { toAttempt, type AttemptRow } from '../rows/attempt-row.ts';
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
  find(filter: AttemptFilter): readonly AttemptRecord[];
}

type AttemptFilter = Parameters<BroadcastStore['attempts']>[0];

const conditionTexts = {
  broadcastId: 'broadcast_id = :broadcastId',
  subscriptionId: 'subscription_id = :subscriptionId',
  outcome: 'outcome = :outcome',
  beforeId: 'id < :beforeId',
} as const;

export function createAttemptLog(database: SqliteDatabase): AttemptLog {
  const insert = database.prepare<{
    broadcastId: number;
    subscriptionId: number | null;
    atMs: number;
    origin: string;
    attempt: number;
    outcome: string;
    status: number | null;
    reason: string | null;
    detail: string | null;
  }>(`
      insert into attempts
        (broadcast_id, subscription_id, at_ms, origin, attempt, outcome, status, reason, detail)
      values
        (:broadcastId, :subscriptionId, :atMs, :origin, :attempt, :outcome, :status, :reason, :detail)
    `);
  const prune = database.prepare<NoValues>(`
      delete from attempts where broadcast_id <=
        (select id from broadcasts order by id desc limit 1 offset ${maxLoggedBroadcasts})
    `);
  const find = ({ broadcastId, subscriptionId, outcome, beforeId, limit }: AttemptFilter) => {
    const conditions = {
      ...(broadcastId !== undefined && { broadcastId }),
      ...(subscriptionId !== undefined && { subscriptionId }),
      ...(outcome !== undefined && { outcome }),
      ...(beforeId !== undefined && { beforeId }),
    };
    const texts = Object.keys(conditions).map((name) => conditionTexts[name as keyof typeof conditionTexts]);
    const where = texts.length === 0 ? '' : `where ${texts.join(' and ')}`;
    const select = `select * from attempts ${where} order by id desc limit :limit`;
    return database
      .prepare<Record<string, number | string>, AttemptRow>(select)
      .all({ ...conditions, limit });
  };

  return {
    add: (broadcastId, { recipient, origin }, record, logged) => {
      const kind = record.outcome === 'accepted' ? 'accepted' : 'others';
      if (logged[kind] >= (kind === 'accepted' ? maxAcceptedPerBroadcast : maxOthersPerBroadcast)) return;
      logged[kind] += 1;
      insert.run({
        broadcastId,
        subscriptionId: recipient.subscriptionId ?? null,
        atMs: record.atMs,
        origin,
        attempt: record.attempt,
        outcome: record.outcome,
        status: record.status ?? null,
        reason: record.reason ?? null,
        detail: record.detail ?? null,
      });
    },
    prune: () => {
      prune.run({});
    },
    find: (filter) => find(filter).map(toAttempt),
  };
}
