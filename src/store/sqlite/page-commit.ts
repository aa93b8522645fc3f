// What came of a page of rows, stored in one transaction: the cursor of the slice, counts, retries, subscriptions
// that are gone, the log, alarms. A row is counted here and nowhere else, and only by the worker that holds it.
import type { Alarm, BroadcastState, OriginCounts } from '../broadcasts.ts';
import type { CommitAnswer, PageCommit, RowResult } from '../ledger.ts';
import { createAttemptLog, type Logged } from './attempt-log.ts';
import { createFinish } from './finish-broadcast.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

type OriginTally = { -readonly [Name in keyof OriginCounts]: OriginCounts[Name] };

type RetryValues = {
  broadcastId: number;
  position: number;
  dueAtMs: number;
  attempts: number;
  deferrals: number;
  expiresAtMs: number;
  newToken: string | null;
};

/** @returns a function to be called inside a transaction */
export function createPageCommit(database: SqliteDatabase): (page: PageCommit) => CommitAnswer {
  const statements = prepareStatements(database);
  const log = createAttemptLog(database);
  const finish = createFinish(database);

  /** @returns false where the slice is another worker's */
  const moveCursor = (page: PageCommit, nowMs: number): boolean => {
    if (page.slice === undefined) return true;
    const { broadcastId, fenceToken, slice, leaseMs } = page;
    const moved = statements.moveCursor.first({
      broadcastId,
      fenceToken,
      number: slice.number,
      cursor: slice.cursor,
      untilMs: nowMs + leaseMs,
    });
    if (moved === undefined) return false;
    if (moved.cursor >= moved.through_position) {
      statements.dropSlice.run({ broadcastId, number: slice.number });
    }
    return true;
  };

  /** @returns false where the row is another worker's, who will count it */
  const store = (page: PageCommit, row: RowResult, nowMs: number, isCancelled: boolean): boolean => {
    const { broadcastId, fenceToken } = page;
    const { position } = row.recipient;
    const isFresh = page.slice !== undefined;
    if (row.retry === undefined) {
      return isFresh || statements.dropRetry.run({ broadcastId, position, fenceToken }) > 0;
    }
    const { delayMs, attempts, deferrals, expiresAtMs } = row.retry;
    const values = {
      broadcastId,
      position,
      dueAtMs: nowMs + delayMs,
      attempts,
      deferrals,
      expiresAtMs,
      newToken: row.result === 'detached' ? fenceToken : null,
    };
    // what is cancelled is not tried again; an answer that is still to come is waited for
    if (isFresh && isCancelled && row.result === 'retry') return true;
    if (isFresh) return statements.addRetry.run(values) > 0;
    return statements.deferRetry.run({ ...values, fenceToken }) > 0;
  };

  const removeGone = ({ recipient }: RowResult): void => {
    const { subscriptionId, updatedAtMs, endpoint, p256dh, auth } = recipient;
    if (subscriptionId === undefined) statements.removeGoneByKeys.run({ endpoint, p256dh, auth });
    else statements.removeGone.run({ id: subscriptionId, updatedAtMs });
  };

  return (page) => {
    const nowMs = database.now();
    const { broadcastId } = page;
    const head = statements.findHead.first({ broadcastId });
    if (head === undefined || !moveCursor(page, nowMs)) {
      return { isLeaseLost: true, state: head?.state ?? 'cancelled', newAlarms: [] };
    }

    const tallies = new Map<string, OriginTally>();
    const alarms = new Map<string, Alarm>();
    const logged: Logged = { accepted: head.logged_accepted, others: head.logged_others };
    for (const row of page.rows) {
      if (!store(page, row, nowMs, head.state === 'cancelled')) continue;
      if (row.result === 'gone') removeGone(row);
      tally(tallies, row);
      if (row.alarm !== undefined) raise(alarms, row.origin, row.alarm, nowMs);
      if (row.record !== undefined) {
        log.add(broadcastId, row, row.record, logged);
      }
    }

    for (const counts of tallies.values()) statements.addTally.run({ broadcastId, ...counts });
    if (logged.accepted !== head.logged_accepted || logged.others !== head.logged_others) {
      statements.setLogged.run({ broadcastId, accepted: logged.accepted, others: logged.others });
    }
    const newAlarms = [...alarms.values()].filter((alarm) => {
      const { origin, reason, detail, rows } = alarm;
      return statements.addAlarm.first({ broadcastId, origin, reason, detail, nowMs, rows })?.rows === rows;
    });
    finish.ifOver(broadcastId, nowMs);
    return { isLeaseLost: false, state: head.state, newAlarms };
  };
}

function tally(tallies: Map<string, OriginTally>, { origin, attempts, result }: RowResult): void {
  let counts = tallies.get(origin);
  if (counts === undefined) {
    counts = { origin, attempts: 0, accepted: 0, gone: 0, rejected: 0, expired: 0, exhausted: 0 };
    tallies.set(origin, counts);
  }
  counts.attempts += attempts;
  if (result !== 'retry' && result !== 'detached') counts[result] += 1;
}

function raise(
  alarms: Map<string, Alarm>,
  origin: string,
  { reason, detail }: { readonly reason: string; readonly detail: string },
  firstAtMs: number,
): void {
  const key = `${origin} ${reason}`;
  const known = alarms.get(key) ?? { origin, reason, detail, firstAtMs, rows: 0 };
  alarms.set(key, { ...known, rows: known.rows + 1 });
}

function prepareStatements(database: SqliteDatabase) {
  return {
    findHead: database.prepare<
      { broadcastId: number },
      { state: BroadcastState; logged_accepted: number; logged_others: number }
    >('select state, logged_accepted, logged_others from broadcasts where id = :broadcastId'),
    moveCursor: database.prepare<
      { broadcastId: number; fenceToken: string; number: number; cursor: number; untilMs: number },
      { cursor: number; through_position: number }
    >(`
        update slices set cursor = :cursor, lease_until_ms = :untilMs
        where broadcast_id = :broadcastId and number = :number and token = :fenceToken
        returning cursor, through_position
      `),
    dropSlice: database.prepare<{ broadcastId: number; number: number }>(
      'delete from slices where broadcast_id = :broadcastId and number = :number',
    ),
    addRetry: database.prepare<RetryValues>(`
        insert into retries (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms, token)
        values (:broadcastId, :position, :dueAtMs, :attempts, :deferrals, :expiresAtMs, :newToken)
      `),
    deferRetry: database.prepare<RetryValues & { fenceToken: string }>(`
        update retries set
          due_at_ms = :dueAtMs,
          attempts = :attempts,
          deferrals = :deferrals,
          expires_at_ms = :expiresAtMs,
          token = :newToken
        where broadcast_id = :broadcastId and position = :position and token = :fenceToken
      `),
    dropRetry: database.prepare<{ broadcastId: number; position: number; fenceToken: string }>(`
        delete from retries
        where broadcast_id = :broadcastId and position = :position and token = :fenceToken
      `),
    // a subscription that was renewed since it was read lives
    removeGone: database.prepare<{ id: number; updatedAtMs: number }>(
      'delete from subscriptions where id = :id and updated_at_ms = :updatedAtMs',
    ),
    removeGoneByKeys: database.prepare<{ endpoint: string; p256dh: Uint8Array; auth: Uint8Array }>(
      'delete from subscriptions where endpoint = :endpoint and p256dh = :p256dh and auth = :auth',
    ),
    addTally: database.prepare<OriginTally & { broadcastId: number }>(`
        insert into broadcast_origins
          (broadcast_id, origin, attempts, accepted, gone, rejected, expired, exhausted)
        values
          (:broadcastId, :origin, :attempts, :accepted, :gone, :rejected, :expired, :exhausted)
        on conflict (broadcast_id, origin) do update set
          attempts = attempts + excluded.attempts,
          accepted = accepted + excluded.accepted,
          gone = gone + excluded.gone,
          rejected = rejected + excluded.rejected,
          expired = expired + excluded.expired,
          exhausted = exhausted + excluded.exhausted
      `),
    setLogged: database.prepare<{ broadcastId: number; accepted: number; others: number }>(`
        update broadcasts set logged_accepted = :accepted, logged_others = :others
        where id = :broadcastId
      `),
    addAlarm: database.prepare<
      {
        broadcastId: number;
        origin: string;
        reason: string;
        detail: string;
        nowMs: number;
        rows: number;
      },
      { rows: number }
    >(`
        insert into alarms (broadcast_id, origin, reason, detail, first_at_ms, rows)
        values (:broadcastId, :origin, :reason, :detail, :nowMs, :rows)
        on conflict (broadcast_id, origin, reason) do update set rows = alarms.rows + excluded.rows
        returning rows
      `),
  };
}
