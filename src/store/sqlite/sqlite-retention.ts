// Retention in SQLite. Room goes back to the disk page by page (`auto_vacuum = incremental`), which a database has from its
// creation on, or from a restore.
import type { Retention, RetentionLimits } from '../retention.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

/** Some milliseconds of one transaction. */
const pruneBatchRows = 2000;
const shrinkBatchPages = 256;
/** Free pages that are left for what is written next. */
const sparePages = 1024;

const isOver = `b.state in ('done', 'cancelled') and coalesce(b.finished_at_ms, b.expires_at_ms) < :beforeMs`;

export function createSqliteRetention(database: SqliteDatabase): Retention {
  const findOver = database.prepare<{ beforeMs: number }, { id: number }>(`
    select id from broadcasts b
    where ${isOver}
      and not exists (select 1 from receipt_windows w where w.broadcast_id = b.id)
    order by id limit 1
  `);
  const findLogged = database.prepare<{ beforeMs: number }, { id: number }>(`
    select id from broadcasts b
    where ${isOver}
      and exists (select 1 from attempts a where a.broadcast_id = b.id)
    order by id limit 1
  `);
  const dropAttempts = database.prepare<{ broadcastId: number }>(`
    delete from attempts where id in
      (select id from attempts where broadcast_id = :broadcastId limit ${pruneBatchRows})
  `);
  const dropBroadcast = database.prepare<{ broadcastId: number }>(
    'delete from broadcasts where id = :broadcastId',
  );
  const dropAudit = database.prepare<{ beforeMs: number }>(`
    delete from audit where id in
      (select id from audit where at_ms < :beforeMs order by at_ms limit ${pruneBatchRows})
  `);
  const dropReaches = database.prepare<{ beforeMs: number }>(`
    delete from person_reaches where (person, broadcast_id) in
      (select person, broadcast_id from person_reaches where at_ms < :beforeMs limit ${pruneBatchRows})
  `);
  const countFree = database.prepare<NoValues, { freelist_count: number }>('pragma freelist_count');
  const giveBack = database.prepare<NoValues>(`pragma incremental_vacuum(${shrinkBatchPages})`);
  const mode = database.prepare<NoValues, { auto_vacuum: number }>('pragma auto_vacuum');

  const pruneAttempts = (beforeMs: number): boolean => {
    const logged = findLogged.first({ beforeMs });
    return logged !== undefined && dropAttempts.run({ broadcastId: logged.id }) > 0;
  };
  const pruneBroadcast = (beforeMs: number): boolean => {
    const over = findOver.first({ beforeMs });
    if (over === undefined) return false;
    const broadcastId = over.id;
    // what hangs on the broadcast goes with it, and its attempts are many
    if (dropAttempts.run({ broadcastId }) < pruneBatchRows) dropBroadcast.run({ broadcastId });
    return true;
  };
  const prune = ({
    broadcastsBeforeMs,
    attemptsBeforeMs,
    auditBeforeMs,
    reachesBeforeMs,
  }: RetentionLimits): boolean =>
    (attemptsBeforeMs !== undefined && pruneAttempts(attemptsBeforeMs)) ||
    (broadcastsBeforeMs !== undefined && pruneBroadcast(broadcastsBeforeMs)) ||
    (auditBeforeMs !== undefined && dropAudit.run({ beforeMs: auditBeforeMs }) > 0) ||
    (reachesBeforeMs !== undefined && dropReaches.run({ beforeMs: reachesBeforeMs }) > 0);

  const freePages = (): number => countFree.first({})?.freelist_count ?? 0;
  const shrink = (): boolean => {
    if (mode.first({})?.auto_vacuum !== incremental || freePages() <= sparePages) return false;
    giveBack.all({});
    return freePages() > sparePages;
  };

  return {
    prune: (limits) => database.write(() => prune(limits)),
    shrink: () => database.write(shrink),
  };
}

/** As SQLite numbers its modes. */
const incremental = 2;
