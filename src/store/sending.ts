// Pauses automatic sending, because a copy of a store must not send what the original sends. Until somebody resumes it,
// schedules and webhook events wait, and running broadcasts are paused. Explicit requests are still sent.
import { changeRows, type PortableDatabase, run, type Work } from './portable-sql.ts';

/** `restored`: the store was restored from a backup. `asked`: somebody asked for the pause. */
export type PauseReason = 'restored' | 'asked';

export interface SendingPause {
  readonly sinceMs: number;
  readonly reason: PauseReason;
  /** Broadcasts that were paused together with sending: those that were running or scheduled. */
  readonly broadcastIds: readonly number[];
}

export type Sending = ReturnType<typeof createSending>;

/** Condition for leasing work that nobody has requested explicitly. */
export const isNotPaused = 'not exists (select 1 from deskbell.sending_pause)';

interface SendingPauseRow extends Omit<SendingPause, 'broadcastIds'> {
  /** JSON */
  readonly broadcastIds: string;
}

export function createSending(database: PortableDatabase) {
  /** Changes run one after another. */
  const change = <Result>(work: () => Work<Result>): Promise<Result> => database.transaction(work, 'sending');

  return {
    /** @returns `undefined` if sending is not paused */
    findPause: async (): Promise<SendingPause | undefined> => {
      const [row] = await database.read<SendingPauseRow>(selectPause);
      return row && toSendingPause(row);
    },

    /**
     * Pauses sending, and every broadcast that is not over. If called again, adds broadcasts started since then. The
     * messages that wait outside a broadcast (`dormant`) wait until sending is resumed.
     */
    pause: (reason: PauseReason) =>
      change(function* () {
        const [known] = yield* run<SendingPauseRow>(selectPause);
        // pause preparations first, because a broadcast starts running when its preparation ends
        const preparing = yield* run<{ readonly id: number }>(
          'update deskbell.preparations set is_paused = 1 where is_paused = 0 returning broadcast_id as id',
        );
        const paused = yield* run<{ readonly id: number; readonly finishedAtMs: number | null }>(
          `update deskbell.broadcasts set state = 'paused' where state = 'running'
           returning id, finished_at_ms as "finishedAtMs"`,
        );
        const open = paused.filter(({ finishedAtMs }) => finishedAtMs === null);
        const former = known === undefined ? [] : toSendingPause(known).broadcastIds;
        const ids = [...new Set([...former, ...[...open, ...preparing].map(({ id }) => id)])].sort(
          (one, other) => one - other,
        );
        const [row] = yield* run<SendingPauseRow>(
          `insert into deskbell.sending_pause (id, since_ms, reason, broadcast_ids)
           values (1, :nowMs, :reason, :ids)
           on conflict (id) do update set reason = excluded.reason, broadcast_ids = excluded.broadcast_ids
           returning ${pauseColumns}`,
          { nowMs: database.now(), reason, ids: JSON.stringify(ids) },
        );
        return toSendingPause(row!);
      }),

    /**
     * Resumes schedules, webhook events, and the messages that wait outside broadcasts.
     *
     * @param options.withBroadcasts also resume the broadcasts that were paused with the store, unless they are over
     * @returns the resumed broadcasts
     */
    resume: ({ withBroadcasts }: { readonly withBroadcasts: boolean }) =>
      change(function* (): Work<readonly number[]> {
        const [known] = yield* run<SendingPauseRow>(selectPause);
        yield* run('delete from deskbell.sending_pause');
        // these have ended, so nobody can resume or cancel them; only their dormant messages are left
        yield* run(
          "update deskbell.broadcasts set state = 'running' where state = 'paused' and finished_at_ms is not null",
        );
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

const pauseColumns = 'since_ms as "sinceMs", reason, broadcast_ids as "broadcastIds"';

const selectPause = `select ${pauseColumns} from deskbell.sending_pause`;

const toSendingPause = (row: SendingPauseRow): SendingPause => ({
  ...row,
  broadcastIds: JSON.parse(row.broadcastIds) as readonly number[],
});

// The running senders of all machines, and what each knows about push services. Each sender reports every few seconds.

/** What one sender knows about one push service. */
export interface ReportedPushService {
  readonly origin: string;
  readonly connections: number;
  readonly inFlight: number;
  /** Requests that wait for a connection or for their turn. */
  readonly queued: number;
  /** Current limit of requests in flight. */
  readonly maxInFlight: number;
  /** Average of recent responses; absent before the first one. */
  readonly latencyMs?: number | undefined;
  /** Number of responses since the sender started. */
  readonly answers: number;
  /** How many of these responses asked for fewer messages (429, 503). */
  readonly throttled: number;
  /** `open`: the push service failed, and gets nothing for a while. `half-open`: one request tests it. */
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Absent if the breaker is closed. */
  readonly breakerReason?: string | undefined;
  /** How long all attempts have failed without a response; `undefined` if that may be a coincidence. */
  readonly unreachableMs?: number | undefined;
  /** The reason for an alarm, if nothing can be sent to this push service. */
  readonly obstacle?: string | undefined;
}

export interface SenderReport {
  /** A random id of this sender. */
  readonly id: string;
  readonly machine: string;
  readonly processId: number;
  /** `worker`: delivers broadcasts. `single`: sends single messages. */
  readonly kind: 'worker' | 'single';
  readonly startedAtMs: number;
  /** The contact in the sender's tokens; absent in reports from earlier versions. */
  readonly subject?: string | undefined;
  /** How far push services' clocks are ahead of the store's; absent before the first comparison. */
  readonly clockDifferenceMs?: number | undefined;
  readonly pushServices: readonly ReportedPushService[];
}

export interface StoredSenderReport extends SenderReport {
  readonly seenAtMs: number;
}

/** A sender that has not reported for this long has ended. */
export const reportLifetimeMs = 20_000;

export type SenderReports = ReturnType<typeof createSenders>;

export function createSenders(database: PortableDatabase) {
  return {
    /** Replaces the sender's earlier report, and deletes reports of senders that have ended. */
    put: (report: SenderReport) =>
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
    remove: (id: string) => database.write('delete from deskbell.senders where id = :id', { id }),
    /** Lists the reports of running senders, in the order in which the senders started. */
    list: async (): Promise<readonly StoredSenderReport[]> => {
      const rows = await database.read<{ readonly seenAtMs: number; readonly report: unknown }>(
        `select seen_at_ms as "seenAtMs", report from deskbell.senders
         where seen_at_ms >= :sinceMs order by started_at_ms, id`,
        { sinceMs: database.now() - reportLifetimeMs },
      );
      return rows.map(({ seenAtMs, report }) => ({ ...database.readJson<SenderReport>(report), seenAtMs }));
    },
  };
}
