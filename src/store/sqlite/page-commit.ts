// What came of a page of rows, stored in one transaction: the cursor of the slice, counts, retries, subscriptions
// that are gone, the log, alarms. A row is counted here and nowhere else, and only by the worker that holds it.
import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import {
  settlements,
  type Alarm,
  type CommitAnswer,
  type PageCommit,
  type RowResult,
} from '../broadcast-store.ts';
import { createAttemptLog, type Logged } from './attempt-log.ts';
import { createFinish } from './finish-broadcast.ts';
import type { BroadcastOriginsTable } from './schema.ts';
import { parameter, prepare, queries } from './statement.ts';

type OriginTally = Omit<BroadcastOriginsTable, 'broadcast_id'>;

/** @returns a function to be called inside a transaction */
export function createPageCommit(
  database: DatabaseSync,
  now: () => number,
): (page: PageCommit) => CommitAnswer {
  const statements = prepareStatements(database);
  const log = createAttemptLog(database);
  const finish = createFinish(database);

  /** @returns false where the slice is another worker's */
  const moveCursor = (page: PageCommit, nowMs: number): boolean => {
    if (page.slice === undefined) return true;
    const { broadcastId, token, slice, leaseMs } = page;
    const moved = statements.moveCursor.first({
      broadcastId,
      token,
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
  const store = (page: PageCommit, row: RowResult, isCancelled: boolean): boolean => {
    const { broadcastId, token } = page;
    const { position } = row.recipient;
    const isFresh = page.slice !== undefined;
    if (row.retry === undefined) {
      return isFresh || statements.dropRetry.run({ broadcastId, position, token }) > 0;
    }
    const values = { broadcastId, position, ...row.retry, token: row.result === 'inFlight' ? token : null };
    // what is cancelled is not tried again; an answer that is still to come is waited for
    if (isFresh && isCancelled && row.result === 'retry') return true;
    if (isFresh) return statements.addRetry.run(values) > 0;
    return statements.putOffRetry.run({ ...values, held: token }) > 0;
  };

  const removeGone = ({ recipient }: RowResult): void => {
    const { subscriptionId, updatedAtMs, endpoint, p256dh, auth } = recipient;
    if (subscriptionId === undefined) statements.removeGoneByKeys.run({ endpoint, p256dh, auth });
    else statements.removeGone.run({ id: subscriptionId, updatedAtMs });
  };

  return (page) => {
    const nowMs = now();
    const { broadcastId } = page;
    const head = statements.findHead.first({ broadcastId });
    if (head === undefined || !moveCursor(page, nowMs)) {
      return { isLeaseLost: true, state: head?.state ?? 'cancelled', newAlarms: [] };
    }

    const tallies = new Map<string, OriginTally>();
    const alarms = new Map<string, Alarm>();
    const logged: Logged = { accepted: head.logged_accepted, others: head.logged_others };
    for (const row of page.rows) {
      if (!store(page, row, head.state === 'cancelled')) continue;
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

const tallyColumns = ['attempts', ...settlements] as const;

function tally(tallies: Map<string, OriginTally>, { origin, attempts, result }: RowResult): void {
  let counts = tallies.get(origin);
  if (counts === undefined) {
    counts = { origin, attempts: 0, accepted: 0, gone: 0, rejected: 0, expired: 0, exhausted: 0 };
    tallies.set(origin, counts);
  }
  counts.attempts += attempts;
  if (result !== 'retry' && result !== 'inFlight') counts[result] += 1;
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

function prepareStatements(database: DatabaseSync) {
  const broadcastId = parameter<number>('broadcastId');
  const position = parameter<number>('position');
  const token = parameter<string | null>('token');
  const retryValues = {
    due_at_ms: parameter<number>('dueAtMs'),
    attempts: parameter<number>('attempts'),
    deferrals: parameter<number>('deferrals'),
    expires_at_ms: parameter<number>('expiresAtMs'),
    token,
  };
  return {
    findHead: prepare(
      database,
      queries
        .selectFrom('broadcasts')
        .select(['state', 'logged_accepted', 'logged_others'])
        .where('id', '=', broadcastId),
    ),
    moveCursor: prepare(
      database,
      queries
        .updateTable('slices')
        .set({ cursor: parameter<number>('cursor'), lease_until_ms: parameter<number>('untilMs') })
        .where('broadcast_id', '=', broadcastId)
        .where('number', '=', parameter<number>('number'))
        .where('token', '=', token)
        .returning(['cursor', 'through_position']),
    ),
    dropSlice: prepare(
      database,
      queries
        .deleteFrom('slices')
        .where('broadcast_id', '=', broadcastId)
        .where('number', '=', parameter<number>('number')),
    ),
    addRetry: prepare(
      database,
      queries.insertInto('retries').values({ broadcast_id: broadcastId, position, ...retryValues }),
    ),
    putOffRetry: prepare(
      database,
      queries
        .updateTable('retries')
        .set(retryValues)
        .where('broadcast_id', '=', broadcastId)
        .where('position', '=', position)
        .where('token', '=', parameter<string>('held')),
    ),
    dropRetry: prepare(
      database,
      queries
        .deleteFrom('retries')
        .where('broadcast_id', '=', broadcastId)
        .where('position', '=', position)
        .where('token', '=', token),
    ),
    // a subscription that was renewed since it was read lives
    removeGone: prepare(
      database,
      queries
        .deleteFrom('subscriptions')
        .where('id', '=', parameter<number>('id'))
        .where('updated_at_ms', '=', parameter<number>('updatedAtMs')),
    ),
    removeGoneByKeys: prepare(
      database,
      queries
        .deleteFrom('subscriptions')
        .where('endpoint', '=', parameter<string>('endpoint'))
        .where('p256dh', '=', parameter<Uint8Array>('p256dh'))
        .where('auth', '=', parameter<Uint8Array>('auth')),
    ),
    addTally: prepare(
      database,
      queries
        .insertInto('broadcast_origins')
        .values({
          broadcast_id: broadcastId,
          origin: parameter<string>('origin'),
          attempts: parameter<number>('attempts'),
          accepted: parameter<number>('accepted'),
          gone: parameter<number>('gone'),
          rejected: parameter<number>('rejected'),
          expired: parameter<number>('expired'),
          exhausted: parameter<number>('exhausted'),
        })
        .onConflict((conflict) =>
          conflict
            .columns(['broadcast_id', 'origin'])
            .doUpdateSet((row) =>
              Object.fromEntries(
                tallyColumns.map((column) => [column, row(column, '+', row.ref(`excluded.${column}`))]),
              ),
            ),
        ),
    ),
    setLogged: prepare(
      database,
      queries
        .updateTable('broadcasts')
        .set({ logged_accepted: parameter<number>('accepted'), logged_others: parameter<number>('others') })
        .where('id', '=', broadcastId),
    ),
    addAlarm: prepare(
      database,
      queries
        .insertInto('alarms')
        .values({
          broadcast_id: broadcastId,
          origin: parameter<string>('origin'),
          reason: parameter<string>('reason'),
          detail: parameter<string>('detail'),
          first_at_ms: parameter<number>('nowMs'),
          rows: parameter<number>('rows'),
        })
        .onConflict((conflict) =>
          conflict
            .columns(['broadcast_id', 'origin', 'reason'])
            .doUpdateSet({ rows: sql<number>`alarms.rows + excluded.rows` }),
        )
        .returning('rows'),
    ),
  };
}
