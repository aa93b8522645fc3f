// Decides how long data is kept. Old data is deleted in short transactions, so that nothing has to wait.
import { alarmsKeptMs, endedAtMs, isPast } from './alarms.ts';
import { lossesKeptMs } from './losses.ts';
import { keyLifetimeMs } from './message-requests.ts';
import { changeRows, run, type PortableDatabase, type Work } from './portable-sql.ts';
import { isNotLookedUp, pruneReceipts } from './receipts.ts';
import { dropOldWebhookEvents } from './webhook-outbox.ts';

/** Times in milliseconds since 1970. If a time is absent, its data is kept forever. */
export interface RetentionLimits {
  /**
   * Deletes broadcasts that ended before this time, with counts, alarms, attempts and receipts. Their idempotency
   * keys are free again then.
   */
  readonly broadcastsBeforeMs?: number | undefined;
  /** Deletes the attempts of broadcasts that ended before this time. */
  readonly attemptsBeforeMs?: number | undefined;
  /** Deletes audit records from before this time. */
  readonly auditBeforeMs?: number | undefined;
  /**
   * Deletes records of which broadcasts reached a person before this time. Only caps per person count these records.
   */
  readonly contactsBeforeMs?: number | undefined;
}

export interface Retention {
  /**
   * Deletes some of the older data. Some data is kept for a fixed time, whatever the limits:
   *
   * - who reported receipts: 30 days after the broadcast started
   * - invitations: until they expire
   * - ended subscriptions: 30 days
   * - webhook events: three days
   * - requests for single messages: a day
   *
   * @returns whether there may be more to delete
   */
  prune(limits: RetentionLimits): Promise<boolean>;
  /** Returns some of the database's free space to the disk. @returns whether there may be more */
  shrink(): Promise<boolean>;
}

/** In days. */
export const defaultRetention = { broadcasts: 400, attempts: 90, audit: 400 } as const;

/** A transaction with this many rows takes a few milliseconds. */
const pruneBatchRows = 2000;
/** Number of sets deleted per batch. Each has up to a thousand rows. */
const pruneBatchSets = 500;

/** A list of recipients that no broadcast uses is kept this long. */
const unusedForMs = 24 * 60 * 60 * 1000;
/** How long ended subscriptions are kept for applications to look up. */
const endedKeptMs = 30 * 24 * 60 * 60 * 1000;
/**
 * Removals are kept for this time, because a broadcast that is being created may count them. Creating a broadcast to a
 * frozen audience takes less time.
 */
const freezingMs = 60 * 60 * 1000;
/** This long after a cancellation, no process is still carrying it out, and no worker holds rows of the broadcast. */
const cancellingMs = 60 * 60 * 1000;
/** How long broadcasts that were cancelled are searched for remaining rows. */
const cancelledLatelyMs = 30 * 24 * 60 * 60 * 1000;

/** A table whose rows are deleted after `keptMs`. */
export interface AgingTable {
  readonly name: string;
  readonly key: string;
  readonly keptMs: number;
  /** Column with the time from which a row is kept for `keptMs`. Default: `at_ms`. */
  readonly time?: string;
}

const agingTables: readonly AgingTable[] = [
  { name: 'message_requests', key: 'key', keptMs: keyLifetimeMs },
  { name: 'ended_subscriptions', key: 'id', keptMs: endedKeptMs, time: 'gone_at_ms' },
  { name: 'losses', key: 'id', keptMs: lossesKeptMs },
];

/** @param ownTables tables that only this database has */
export function createRetention(
  database: PortableDatabase,
  shrink: Retention['shrink'],
  ownTables: readonly AgingTable[] = [],
): Retention {
  return {
    prune: (limits) =>
      database.transaction(function* () {
        if (yield* pruneReceipts(database.now())) return true;
        const { broadcastsBeforeMs, attemptsBeforeMs, auditBeforeMs, contactsBeforeMs } = limits;
        for (const { name, key, keptMs, time } of [...agingTables, ...ownTables]) {
          if ((yield* dropRows(name, key, database.now() - keptMs, time)) === pruneBatchRows) return true;
        }
        yield* run('delete from deskbell.invitations where expires_at_ms <= :nowMs', {
          nowMs: database.now(),
        });
        yield* dropOldWebhookEvents(database.now());
        if ((yield* pruneRemovals(database.now() - freezingMs)) === pruneBatchRows) return true;
        return (
          (attemptsBeforeMs !== undefined && (yield* pruneAttempts(attemptsBeforeMs, database.now()))) ||
          (broadcastsBeforeMs !== undefined && (yield* pruneBroadcast(broadcastsBeforeMs))) ||
          (yield* notePastAlarms(database.now() - alarmsKeptMs)) === pruneBatchRows ||
          (yield* dropCancelled('slices', 'number', database.now())) === pruneBatchRows ||
          (yield* dropCancelled('retries', 'position', database.now())) === pruneBatchRows ||
          (auditBeforeMs !== undefined && (yield* dropRows('audit', 'id', auditBeforeMs)) > 0) ||
          (contactsBeforeMs !== undefined &&
            (yield* dropRows('person_reaches', 'person, broadcast_id', contactsBeforeMs)) > 0) ||
          // do this last, because it reads every recipient list that is still stored
          (yield* dropUnusedAudience(database.now() - unusedForMs))
        );
      }),
    shrink,
  };
}

function* findOver(condition: string, beforeMs: number): Work<number | undefined> {
  const [row] = yield* run<{ readonly id: number }>(
    `select b.id from deskbell.broadcasts b
     where b.state in ('done', 'cancelled') and ${endedAtMs} < :beforeMs
       and ${condition} and ${isNotLookedUp('b.id')}
     order by ${endedAtMs}, b.id limit 1`,
    { beforeMs },
  );
  return row?.id;
}

function* pruneAttempts(beforeMs: number, nowMs: number): Work<boolean> {
  const over = yield* findOver(
    `(b.attempts_dropped_at_ms is null
      or exists (select 1 from deskbell.attempt_sets s where s.broadcast_id = b.id))`,
    beforeMs,
  );
  if (over === undefined) return false;
  yield* run(
    `update deskbell.broadcasts set attempts_dropped_at_ms = :nowMs
     where id = :id and attempts_dropped_at_ms is null`,
    { id: over, nowMs },
  );
  yield* dropAttempts(over);
  return true;
}

function* pruneBroadcast(beforeMs: number): Work<boolean> {
  const over = yield* findOver(
    'not exists (select 1 from deskbell.receipt_windows w where w.broadcast_id = b.id)',
    beforeMs,
  );
  if (over === undefined) return false;
  // delete the attempts first: there are many, and deleting a broadcast would delete its dependent rows too
  if ((yield* dropAttempts(over)) < pruneBatchSets)
    yield* run('delete from deskbell.broadcasts where id = :id', { id: over });
  return true;
}

/**
 * Deletes part of a recipient list if no broadcast uses the list, or if its broadcast is over. A list of subscription
 * ids is kept until the attempts of its broadcast are deleted.
 */
function* dropUnusedAudience(unusedBeforeMs: number): Work<boolean> {
  const [unused] = yield* run<{ readonly id: number }>(
    `select a.id from deskbell.audiences a
     where not exists (
         select 1 from deskbell.broadcasts b
         where b.audience_id = a.id and (b.state not in ('done', 'cancelled') or (
           b.attempts_dropped_at_ms is null
           and exists (select 1 from deskbell.audience_sets s where s.audience_id = a.id))))
       and (a.created_at_ms < :unusedBeforeMs
            or exists (select 1 from deskbell.broadcasts b where b.audience_id = a.id))
     order by a.id limit 1`,
    { unusedBeforeMs },
  );
  if (unused === undefined) return false;
  const { id } = unused;
  const members = yield* changeRows(
    `delete from deskbell.audience_members where audience_id = :id and position in
       (select position from deskbell.audience_members where audience_id = :id order by position limit ${pruneBatchRows})`,
    { id },
  );
  const sets = yield* changeRows(
    `delete from deskbell.audience_sets where audience_id = :id and number in
       (select number from deskbell.audience_sets where audience_id = :id order by number limit ${pruneBatchSets})`,
    { id },
  );
  if (members < pruneBatchRows && sets < pruneBatchSets)
    yield* run('delete from deskbell.audiences where id = :id', { id });
  return true;
}

/** Deletes rows of cancelled broadcasts that a process left behind when it ended. @returns how many were deleted */
function* dropCancelled(table: 'slices' | 'retries', key: string, nowMs: number): Work<number> {
  // the first condition repeats that of the index, so that the database uses the index
  return yield* changeRows(
    `delete from deskbell.${table} where (broadcast_id, ${key}) in (
       select r.broadcast_id, r.${key} from deskbell.broadcasts b join deskbell.${table} r on r.broadcast_id = b.id
       where b.state in ('done', 'cancelled') and b.state = 'cancelled'
         and ${endedAtMs} >= :sinceMs and ${endedAtMs} < :beforeMs
       limit ${pruneBatchRows})`,
    { sinceMs: nowMs - cancelledLatelyMs, beforeMs: nowMs - cancellingMs },
  );
}

/** Deletes removals that neither open broadcasts nor those being created count. @returns how many were deleted */
const pruneRemovals = (beforeMs: number): Work<number> =>
  changeRows(
    `delete from deskbell.removals where id in (
       select r.id from (
         select id, at_ms from deskbell.removals
         where id <= coalesce((select min(removals_after) from deskbell.broadcasts where state in ('running', 'paused')),
                              ${Number.MAX_SAFE_INTEGER})
         order by id limit ${pruneBatchRows}) r
       where r.at_ms < :beforeMs)`,
    { beforeMs },
  );

/** Marks alarms as past if their broadcasts ended long ago. @returns how many alarms were marked */
const notePastAlarms = (pastMs: number): Work<number> =>
  changeRows(
    `update deskbell.alarms set is_past = 1 where (broadcast_id, origin, reason) in (
       select a.broadcast_id, a.origin, a.reason
       from deskbell.alarms a join deskbell.broadcasts b on b.id = a.broadcast_id
       where a.is_past = 0 and ${isPast} limit ${pruneBatchRows})`,
    { pastMs },
  );

/** @returns the number of sets */
const dropAttempts = (broadcastId: number): Work<number> =>
  changeRows(
    `delete from deskbell.attempt_sets where id in
       (select id from deskbell.attempt_sets where broadcast_id = :broadcastId limit ${pruneBatchSets})`,
    { broadcastId },
  );

/** @returns the number of rows */
const dropRows = (table: string, key: string, beforeMs: number, time = 'at_ms'): Work<number> =>
  changeRows(
    // both conditions, because a row may be renewed while this waits for it
    `delete from deskbell.${table} where ${time} < :beforeMs and (${key}) in
       (select ${key} from deskbell.${table} where ${time} < :beforeMs order by ${time} limit ${pruneBatchRows})`,
    { beforeMs },
  );
