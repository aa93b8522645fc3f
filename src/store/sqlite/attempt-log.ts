// The attempt log: what was tried, when, and what came of it. It is bounded, and holds nothing that is secret.
import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { AttemptRecord, RowResult } from '../broadcast-store.ts';
import { parameter, prepare, queries, written } from './statement.ts';

const maxAcceptedPerBroadcast = 1000;
const maxOthersPerBroadcast = 10_000;
const maxBroadcasts = 100;

/** How much of a broadcast has been logged. */
export interface Logged {
  accepted: number;
  others: number;
}

export interface AttemptLog {
  /** Adds what is told of an attempt as long as there is room, and counts it in `logged`. Inside a transaction. */
  add(
    broadcastId: number,
    row: Pick<RowResult, 'recipient' | 'origin'>,
    record: NonNullable<RowResult['record']>,
    logged: Logged,
  ): void;
  /** Drops what belongs to old broadcasts. Inside a transaction. */
  prune(): void;
  find(filter: {
    readonly broadcastId?: number;
    readonly subscriptionId?: number;
    readonly limit: number;
  }): readonly AttemptRecord[];
}

export function createAttemptLog(database: DatabaseSync): AttemptLog {
  const insert = prepare(
    database,
    queries.insertInto('attempts').values({
      broadcast_id: parameter<number>('broadcastId'),
      subscription_id: parameter<number | null>('subscriptionId'),
      at_ms: parameter<number>('atMs'),
      origin: parameter<string>('origin'),
      attempt: parameter<number>('attempt'),
      outcome: parameter<string>('outcome'),
      status: parameter<number | null>('status'),
      reason: parameter<string | null>('reason'),
      detail: parameter<string | null>('detail'),
    }),
  );
  const prune = prepare(
    database,
    written(sql`
      delete from attempts where broadcast_id <=
        (select id from broadcasts order by id desc limit 1 offset ${maxBroadcasts})
    `),
  );
  const newest = queries
    .selectFrom('attempts')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(parameter<number>('limit'));
  const ofBroadcast = newest.where('broadcast_id', '=', parameter<number>('broadcastId'));
  const ofSubscription = newest.where('subscription_id', '=', parameter<number>('subscriptionId'));
  const find = {
    all: prepare(database, newest),
    ofBroadcast: prepare(database, ofBroadcast),
    ofSubscription: prepare(database, ofSubscription),
    ofBoth: prepare(database, ofBroadcast.where('subscription_id', '=', parameter<number>('subscriptionId'))),
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
      prune.run();
    },
    find: ({ broadcastId, subscriptionId, limit }) => {
      const rows =
        broadcastId === undefined
          ? subscriptionId === undefined
            ? find.all.all({ limit })
            : find.ofSubscription.all({ subscriptionId, limit })
          : subscriptionId === undefined
            ? find.ofBroadcast.all({ broadcastId, limit })
            : find.ofBoth.all({ broadcastId, subscriptionId, limit });
      return rows.map((row) => ({
        broadcastId: row.broadcast_id,
        ...(row.subscription_id === null ? {} : { subscriptionId: row.subscription_id }),
        atMs: row.at_ms,
        origin: row.origin,
        attempt: row.attempt,
        outcome: row.outcome,
        ...(row.status === null ? {} : { status: row.status }),
        ...(row.reason === null ? {} : { reason: row.reason }),
        ...(row.detail === null ? {} : { detail: row.detail }),
      }));
    },
  };
}
