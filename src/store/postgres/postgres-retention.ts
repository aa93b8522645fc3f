// Retention in PostgreSQL, which gives room back itself: a vacuum lets it be used again.
import type { Retention } from '../retention.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** Some milliseconds of one statement. */
const pruneBatchRows = 2000;

const isOver = `b.state in ('done', 'cancelled') and coalesce(b.finished_at_ms, b.expires_at_ms) < $1`;

export function createPostgresRetention(database: PostgresDatabase): Retention {
  const dropAttempts = (broadcastId: number): Promise<number> =>
    database.run(
      `delete from deskbell.attempts where id in
         (select id from deskbell.attempts where broadcast_id = $1 limit ${pruneBatchRows})`,
      [broadcastId],
    );

  const find = async (condition: string, beforeMs: number): Promise<number | undefined> => {
    const row = await database.first<{ readonly id: number }>(
      `select b.id from deskbell.broadcasts b where ${isOver} and ${condition} order by b.id limit 1`,
      [beforeMs],
    );
    return row?.id;
  };

  const pruneAttempts = async (beforeMs: number): Promise<boolean> => {
    const logged = await find(
      'exists (select from deskbell.attempts a where a.broadcast_id = b.id)',
      beforeMs,
    );
    return logged !== undefined && (await dropAttempts(logged)) > 0;
  };

  const pruneBroadcast = async (beforeMs: number): Promise<boolean> => {
    const over = await find(
      'not exists (select from deskbell.receipt_windows w where w.broadcast_id = b.id)',
      beforeMs,
    );
    if (over === undefined) return false;
    // what hangs on the broadcast goes with it, and its attempts are many
    if ((await dropAttempts(over)) === pruneBatchRows) return true;
    await database.run('delete from deskbell.broadcasts where id = $1', [over]);
    return true;
  };

  const pruneAudit = async (beforeMs: number): Promise<boolean> => {
    const dropped = await database.run(
      `delete from deskbell.audit where id in
         (select id from deskbell.audit where at_ms < $1 order by at_ms limit ${pruneBatchRows})`,
      [beforeMs],
    );
    return dropped > 0;
  };

  const pruneReaches = async (beforeMs: number): Promise<boolean> => {
    const dropped = await database.run(
      `delete from deskbell.person_reaches where (person, broadcast_id) in
         (select person, broadcast_id from deskbell.person_reaches where at_ms < $1 limit ${pruneBatchRows})`,
      [beforeMs],
    );
    return dropped > 0;
  };

  return {
    prune: async ({ broadcastsBeforeMs, attemptsBeforeMs, auditBeforeMs, reachesBeforeMs }) =>
      (attemptsBeforeMs !== undefined && (await pruneAttempts(attemptsBeforeMs))) ||
      (broadcastsBeforeMs !== undefined && (await pruneBroadcast(broadcastsBeforeMs))) ||
      (auditBeforeMs !== undefined && (await pruneAudit(auditBeforeMs))) ||
      (reachesBeforeMs !== undefined && (await pruneReaches(reachesBeforeMs))),
    shrink: async () => false,
  };
}
