// What came of a subscription in a broadcast: from its attempts, where it waits, and whether it was in the audience.
import { createAttemptReader } from './attempt-reader.ts';
import type { AttemptRecord, AttemptStore, RowOutcome, RowState, RowWait } from './attempts.ts';
import { isOver, type Broadcast } from './broadcasts.ts';
import type { BroadcastReader } from './broadcast-reader.ts';
import { indexOfId } from './id-set.ts';
import type { PortableDatabase } from './portable-sql.ts';

interface RetryRow {
  readonly due_at_ms: number;
  readonly attempts: number;
  readonly expires_at_ms: number;
  readonly token: string | null;
  readonly push_service_id: number | null;
}

/** What is known of a broadcast besides its counts. */
interface Head {
  /** Null where the audience is all subscriptions. */
  readonly audience_id: number | null;
  readonly expired_unread: number;
  readonly attempts_dropped_at_ms: number | null;
  readonly has_list: number | boolean;
  /** Its audience is not complete. */
  readonly is_preparing: number | boolean;
}

/** @returns all that the store knows of what came of rows */
export function createAttempts(
  database: PortableDatabase,
  broadcasts: Pick<BroadcastReader, 'get'>,
): AttemptStore {
  const { historyOf, ...reader } = createAttemptReader(database);

  const first = async <Row>(sql: string, values: Readonly<Record<string, number>>) =>
    (await database.read<Row>(sql, values))[0];

  const findRetry = (broadcastId: number, position: number) =>
    first<RetryRow>(
      `select due_at_ms, attempts, expires_at_ms, token, push_service_id from deskbell.retries
       where broadcast_id = :broadcastId and position = :position`,
      { broadcastId, position },
    );

  const findPosition = async (audienceId: number | null, id: number): Promise<number | undefined> => {
    if (audienceId === null) return id;
    const sets = await database.read<{ readonly ids: Uint8Array }>(
      `select ids from deskbell.audience_sets
       where audience_id = :audienceId and first_id <= :id and last_id >= :id`,
      { audienceId, id },
    );
    if (sets.some(({ ids }) => indexOfId(ids, id) >= 0)) return id;
    const row = await first<{ readonly position: number }>(
      'select position from deskbell.audience_members where audience_id = :audienceId and subscription_id = :id',
      { audienceId, id },
    );
    return row?.position;
  };

  /** Of a row that no attempt has settled. */
  const stateOf = async (
    broadcast: Broadcast,
    head: Head,
    id: number,
    position: number | undefined,
    last: AttemptRecord | undefined,
  ): Promise<RowState> => {
    if (last === undefined && head.attempts_dropped_at_ms !== null) return 'noLongerKept';
    const stored = await first<{ readonly created_at_ms: number }>(
      'select created_at_ms from deskbell.subscriptions where id = :id',
      { id },
    );
    if (last === undefined && position === undefined) {
      if (head.is_preparing) return 'pending';
      // the members of a list may be dropped once its broadcast is over
      const { removed, cancelled, unaccounted } = broadcast.counts;
      const isSettled = removed === 0 && cancelled === 0 && unaccounted === 0;
      return head.has_list || isSettled ? 'notInAudience' : 'noLongerKept';
    }
    if (last === undefined && stored !== undefined && head.audience_id === null) {
      if (stored.created_at_ms > broadcast.createdAtMs) return 'notInAudience';
    }
    if (stored === undefined) return 'removed';
    if (!isOver(broadcast)) return 'pending';
    if (broadcast.state === 'cancelled') return 'cancelled';
    return head.expired_unread > 0 ? 'expired' : 'removed';
  };

  const outcomeOf = async (broadcast: Broadcast, head: Head, id: number): Promise<RowOutcome> => {
    const attempts = await historyOf(broadcast.id, id);
    const [last] = attempts;
    const found = { subscriptionId: id, attempts };
    if (last !== undefined && last.outcome !== 'retry') return { ...found, state: last.outcome };
    const position = await findPosition(head.audience_id, id);
    const retry =
      position === undefined || isOver(broadcast) ? undefined : await findRetry(broadcast.id, position);
    if (retry === undefined) return { ...found, state: await stateOf(broadcast, head, id, position, last) };
    if (retry.token !== null && retry.due_at_ms > database.now()) return { ...found, state: 'inFlight' };
    return { ...found, state: 'waiting', wait: toWait(retry) };
  };

  const outcomesOf: AttemptStore['outcomesOf'] = async (broadcastId, subscriptionIds) => {
    const broadcast = await broadcasts.get(broadcastId);
    const head = await first<Head>(
      `select audience_id, expired_unread, attempts_dropped_at_ms,
              exists (select 1 from deskbell.audiences a where a.id = b.audience_id) as has_list,
              exists (select 1 from deskbell.preparations p where p.broadcast_id = b.id) as is_preparing
       from deskbell.broadcasts b where id = :broadcastId`,
      { broadcastId },
    );
    if (head === undefined) throw new Error(`Broadcast ${broadcastId} was deleted while it was read.`);
    const found: RowOutcome[] = [];
    for (const id of subscriptionIds) found.push(await outcomeOf(broadcast, head, id));
    return found;
  };

  return { ...reader, outcomesOf };
}

function toWait(retry: RetryRow): RowWait {
  const { attempts, expires_at_ms: expiresAtMs } = retry;
  if (retry.push_service_id !== null) return { for: 'pushService', expiresAtMs, attempts };
  return { for: attempts > 0 ? 'retry' : 'turn', untilMs: retry.due_at_ms, expiresAtMs, attempts };
}
