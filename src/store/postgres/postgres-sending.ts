// Whether the store sends by itself, in PostgreSQL.
import { toSendingPause, withBroadcasts, type SendingPauseRow } from '../rows/sending-pause-row.ts';
import type { Sending, SendingPause } from '../sending.ts';
import type { PostgresDatabase, Query } from './postgres-database.ts';

/** To be put where something is leased that would be sent without anybody asking for it. */
export const isNotPaused = 'not exists (select from deskbell.sending_pause)';

/** @param functions the schema of the database's functions */
export function createPostgresSending(database: PostgresDatabase, functions: string): Sending {
  /** Changes come one after the other. */
  const change = <Result>(
    work: (query: Query, known: SendingPauseRow | undefined) => Promise<Result>,
  ): Promise<Result> =>
    database.transaction(async (query) => {
      await query(`select pg_advisory_xact_lock(hashtext('deskbell sending'), 0)`);
      return work(query, await find(query));
    });

  return {
    findPause: () => findPause(database),

    pause: (reason) =>
      change(async (query, known) => {
        const paused = await query<{ readonly id: number }>(
          "update deskbell.broadcasts set state = 'paused' where state = 'running' returning id",
        );
        const ids = withBroadcasts(
          known,
          paused.map(({ id }) => id),
        );
        const [row] = await query<SendingPauseRow>(
          `insert into deskbell.sending_pause (id, since_ms, reason, broadcast_ids)
           values (1, ${functions}.clock($1), $2, $3)
           on conflict (id) do update set reason = excluded.reason, broadcast_ids = excluded.broadcast_ids
           returning since_ms, reason, broadcast_ids`,
          [database.now(), reason, ids],
        );
        if (row === undefined) throw new Error('The pause was not stored.');
        return toSendingPause(row);
      }),

    resume: (options) =>
      change(async (query, known) => {
        await query('delete from deskbell.sending_pause');
        if (known === undefined || !options.withBroadcasts) return [];
        const resumed = await query<{ readonly id: number }>(
          `update deskbell.broadcasts set state = 'running' where state = 'paused' and id = any ($1) returning id`,
          [toSendingPause(known).broadcastIds],
        );
        return resumed.map(({ id }) => id).sort((one, other) => one - other);
      }),
  };
}

export async function findPause({
  query,
}: Pick<PostgresDatabase, 'query'>): Promise<SendingPause | undefined> {
  const row = await find(query);
  return row && toSendingPause(row);
}

async function find(query: Query): Promise<SendingPauseRow | undefined> {
  const [row] = await query<SendingPauseRow>(
    'select since_ms, reason, broadcast_ids from deskbell.sending_pause',
  );
  return row;
}
