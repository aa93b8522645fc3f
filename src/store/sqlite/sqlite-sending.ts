// Whether the store sends by itself, in SQLite.
import { toSendingPause, withBroadcasts, type SendingPauseRow } from '../rows/sending-pause-row.ts';
import type { Sending } from '../sending.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

/** To be put where something is leased that would be sent without anybody asking for it. */
export const isNotPaused = 'not exists (select 1 from sending_pause)';

export function createSqliteSending(database: SqliteDatabase): Sending {
  const find = database.prepare<NoValues, SendingPauseRow>(
    'select since_ms, reason, broadcast_ids from sending_pause',
  );
  const put = database.prepare<{ nowMs: number; reason: string; ids: string }, SendingPauseRow>(`
    insert into sending_pause (id, since_ms, reason, broadcast_ids) values (1, :nowMs, :reason, :ids)
    on conflict (id) do update set reason = excluded.reason, broadcast_ids = excluded.broadcast_ids
    returning since_ms, reason, broadcast_ids
  `);
  const remove = database.prepare<NoValues>('delete from sending_pause');
  const pauseBroadcasts = database.prepare<NoValues, { id: number }>(
    "update broadcasts set state = 'paused' where state = 'running' returning id",
  );
  const resumeBroadcasts = database.prepare<{ ids: string }, { id: number }>(`
    update broadcasts set state = 'running'
    where state = 'paused' and id in (select value from json_each(:ids)) returning id
  `);

  return {
    findPause: () =>
      database.read(() => {
        const row = find.first({});
        return row && toSendingPause(row);
      }),
    pause: (reason) =>
      database.write(() => {
        const paused = pauseBroadcasts.all({}).map(({ id }) => id);
        const row = put.first({ nowMs: database.now(), reason, ids: withBroadcasts(find.first({}), paused) });
        if (row === undefined) throw new Error('The pause was not stored.');
        return toSendingPause(row);
      }),
    resume: (options) =>
      database.write(() => {
        const row = find.first({});
        remove.run({});
        if (row === undefined || !options.withBroadcasts) return [];
        return resumeBroadcasts
          .all({ ids: row.broadcast_ids })
          .map(({ id }) => id)
          .sort((a, b) => a - b);
      }),
  };
}
