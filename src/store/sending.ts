// Whether a store sends by itself. A copy of a store (restored, or made of its disk) must not send what the original sends, so
// its sending is paused until somebody resumes it: schedules and webhook events wait, and the broadcasts that were running are
// paused, with all that is still to be tried again. What somebody sends by a command or a request is sent.
import { changeRows, run, type PortableDatabase, type Work } from './portable-sql.ts';

/** `restored`: the store was made of a backup. `asked`: somebody has paused it. */
export type PauseReason = 'restored' | 'asked';

export interface SendingPause {
  readonly sinceMs: number;
  readonly reason: PauseReason;
  /** That were running or scheduled then, and were paused. */
  readonly broadcastIds: readonly number[];
}

export interface Sending {
  /** @returns `undefined` if the store sends by itself */
  findPause(): Promise<SendingPause | undefined>;
  /** Pauses it, and every broadcast that is not over. Where it is paused already, broadcasts that run since then are added. */
  pause(reason: PauseReason): Promise<SendingPause>;
  /**
   * Has schedules and webhook events go on.
   *
   * @param options.withBroadcasts the broadcasts that were paused with it go on too, unless they are over
   * @returns those
   */
  resume(options: { readonly withBroadcasts: boolean }): Promise<readonly number[]>;
}

/** To be put where something is leased that would be sent without anybody asking for it. */
export const isNotPaused = 'not exists (select 1 from deskbell.sending_pause)';

export interface SendingPauseRow {
  readonly since_ms: number;
  readonly reason: PauseReason;
  /** JSON */
  readonly broadcast_ids: string;
}

export function createSending(database: PortableDatabase): Sending {
  /** Changes come one after the other. */
  const change = <Result>(work: () => Work<Result>): Promise<Result> => database.transaction(work, 'sending');

  return {
    findPause: async () => {
      const [row] = await database.read<SendingPauseRow>(selectPause);
      return row && toSendingPause(row);
    },

    pause: (reason) =>
      change(function* () {
        const [known] = yield* run<SendingPauseRow>(selectPause);
        const paused = yield* run<{ readonly id: number }>(
          "update deskbell.broadcasts set state = 'paused' where state = 'running' returning id",
        );
        const preparing = yield* run<{ readonly id: number }>(
          'update deskbell.preparations set is_paused = 1 where is_paused = 0 returning broadcast_id as id',
        );
        const former = known === undefined ? [] : toSendingPause(known).broadcastIds;
        const ids = [...new Set([...former, ...[...paused, ...preparing].map(({ id }) => id)])].sort(
          (one, other) => one - other,
        );
        const [row] = yield* run<SendingPauseRow>(
          `insert into deskbell.sending_pause (id, since_ms, reason, broadcast_ids)
           values (1, :nowMs, :reason, :ids)
           on conflict (id) do update set reason = excluded.reason, broadcast_ids = excluded.broadcast_ids
           returning since_ms, reason, broadcast_ids`,
          { nowMs: database.now(), reason, ids: JSON.stringify(ids) },
        );
        if (row === undefined) throw new Error('The pause was not stored.');
        return toSendingPause(row);
      }),

    resume: ({ withBroadcasts }) =>
      change(function* () {
        const [known] = yield* run<SendingPauseRow>(selectPause);
        yield* run('delete from deskbell.sending_pause');
        if (known === undefined || !withBroadcasts) return [];
        const resumed: number[] = [];
        for (const id of toSendingPause(known).broadcastIds) {
          const changed =
            (yield* changeRows('update deskbell.preparations set is_paused = 0 where broadcast_id = :id', {
              id,
            })) ||
            (yield* changeRows(
              "update deskbell.broadcasts set state = 'running' where state = 'paused' and id = :id",
              { id },
            ));
          if (changed > 0) resumed.push(id);
        }
        return resumed;
      }),
  };
}

const selectPause = 'select since_ms, reason, broadcast_ids from deskbell.sending_pause';

export const toSendingPause = ({ since_ms, reason, broadcast_ids }: SendingPauseRow): SendingPause => ({
  sinceMs: since_ms,
  reason,
  broadcastIds: JSON.parse(broadcast_ids) as readonly number[],
});
