// Whether a store sends by itself. A copy of a store must not send what the original sends, so its sending can be paused until somebody
// resumes it: schedules and webhook events wait, and running broadcasts are paused. What somebody sends explicitly is still sent.
import { changeRows, type PortableDatabase, run, type Work } from './portable-sql.ts';

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
  /** Pauses it, and every broadcast that is not over. If it is paused already, broadcasts that run since then are added. */
  pause(reason: PauseReason): Promise<SendingPause>;
  /**
   * Lets schedules and webhook events continue.
   *
   * @param options.withBroadcasts also resume the broadcasts that were paused with it, unless they are over
   * @returns those
   */
  resume(options: { readonly withBroadcasts: boolean }): Promise<readonly number[]>;
}

/** A condition for leases of what nobody has asked to send. */
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

// Who sends now, on any machine, and what each knows of push services: reported every few seconds, for operators to see.

/** What one sender knows of one push service. */
export interface ReportedPushService {
  readonly origin: string;
  /** Open connections. */
  readonly connections: number;
  readonly inFlight: number;
  /** Waiting for a connection, or for their turn. */
  readonly queued: number;
  /** How many may be in flight now (pacing). */
  readonly maxInFlight: number;
  /** Average of recent answers; absent before the first one. */
  readonly latencyMs?: number | undefined;
  /** Answers since the sender began. */
  readonly answers: number;
  /** How many of them asked for fewer messages (429, 503). */
  readonly throttled: number;
  /** `open`: it gets nothing for a while, since it failed. `half-open`: one request tries it. */
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Why it is not closed. */
  readonly breakerReason?: string | undefined;
  /** How long every try has failed without an answer, if that is long enough not to be an accident. */
  readonly unreachableMs?: number | undefined;
  /** What keeps everything from being sent there, as a reason of alarms. */
  readonly obstacle?: string | undefined;
}

export interface SenderReport {
  /** Random, of this sender alone. */
  readonly id: string;
  /** Name of the machine. */
  readonly machine: string;
  readonly processId: number;
  /** `worker`: delivers broadcasts. `single`: sends single messages. */
  readonly kind: 'worker' | 'single';
  readonly startedAtMs: number;
  /** The contact that its tokens name; absent in the report of an earlier version. */
  readonly subject?: string | undefined;
  /** How far the clocks of push services are ahead of the store's; absent before they were compared. */
  readonly clockDifferenceMs?: number | undefined;
  readonly pushServices: readonly ReportedPushService[];
}

export interface StoredSenderReport extends SenderReport {
  readonly seenAtMs: number;
}

/** A sender that has not reported for this long is gone. */
export const reportLifetimeMs = 20_000;

export interface SenderReports {
  /** Replaces the sender's earlier report; deletes those of senders that are gone. */
  put(report: SenderReport): Promise<void>;
  remove(id: string): Promise<void>;
  /** Lists the reports of running senders, in the order of their start. */
  list(): Promise<readonly StoredSenderReport[]>;
}

export function createSenders(database: PortableDatabase): SenderReports {
  return {
    put: (report) =>
      database.transaction(function* () {
        const nowMs = database.now();
        const { id, startedAtMs } = report;
        yield* run(
          `insert into deskbell.senders (id, started_at_ms, seen_at_ms, report)
           values (:id, :startedAtMs, :nowMs, :report)
           on conflict (id) do update set seen_at_ms = excluded.seen_at_ms, report = excluded.report`,
          { id, startedAtMs, nowMs, report: JSON.stringify(report) },
        );
        yield* run('delete from deskbell.senders where seen_at_ms < :beforeMs', {
          beforeMs: nowMs - reportLifetimeMs,
        });
      }),
    remove: async (id) => {
      await database.write('delete from deskbell.senders where id = :id', { id });
    },
    list: async () => {
      const rows = await database.read<{ readonly seen_at_ms: number; readonly report: unknown }>(
        `select seen_at_ms, report from deskbell.senders
         where seen_at_ms >= :sinceMs order by started_at_ms, id`,
        { sinceMs: database.now() - reportLifetimeMs },
      );
      return rows.map(({ seen_at_ms, report }) => ({
        ...database.readJson<SenderReport>(report),
        seenAtMs: seen_at_ms,
      }));
    },
  };
}
