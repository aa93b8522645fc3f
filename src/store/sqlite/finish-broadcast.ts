// When a broadcast is over: nothing of it is left to do, or its time has run out.
import type { SqliteDatabase } from './sqlite-database.ts';

export interface Finish {
  /** Finishes the broadcast where no slice and no retry is left. Inside a transaction. */
  ifOver(broadcastId: number, nowMs: number): void;
  /** Finishes the broadcasts that have outlived their message and that no worker holds anything of: what has no
   *  outcome is expired. Inside a transaction. */
  overdue(nowMs: number): void;
}

export function createFinish(database: SqliteDatabase): Finish {
  const finishIfOver = database.prepare<{ broadcastId: number; nowMs: number }>(`
      update broadcasts set state = 'done', finished_at_ms = :nowMs
      where id = :broadcastId and state in ('running', 'paused')
        and not exists (select 1 from slices s where s.broadcast_id = broadcasts.id)
        and not exists (select 1 from retries r where r.broadcast_id = broadcasts.id)
    `);
  const findOverdue = database.prepare<{ nowMs: number }, { id: number }>(`
      select b.id from broadcasts b
      where b.state = 'running' and b.expires_at_ms <= :nowMs
        and not exists (select 1 from slices s
                        where s.broadcast_id = b.id and s.lease_until_ms > :nowMs)
        and not exists (select 1 from retries r
                        where r.broadcast_id = b.id and r.token is not null and r.due_at_ms > :nowMs)
    `);
  const expire = database.prepare<{ broadcastId: number; nowMs: number }>(`
      update broadcasts set state = 'done', finished_at_ms = :nowMs,
        expired_unread = audience - coalesce((
          select sum(accepted + gone + rejected + expired + exhausted)
          from broadcast_origins o where o.broadcast_id = broadcasts.id), 0)
      where id = :broadcastId
    `);
  const dropSlices = database.prepare<{ broadcastId: number }>(
    'delete from slices where broadcast_id = :broadcastId',
  );
  const dropRetries = database.prepare<{ broadcastId: number }>(
    'delete from retries where broadcast_id = :broadcastId',
  );

  return {
    ifOver: (id, atMs) => {
      finishIfOver.run({ broadcastId: id, nowMs: atMs });
    },
    overdue: (atMs) => {
      for (const { id } of findOverdue.all({ nowMs: atMs })) {
        expire.run({ broadcastId: id, nowMs: atMs });
        dropSlices.run({ broadcastId: id });
        dropRetries.run({ broadcastId: id });
      }
    },
  };
}
