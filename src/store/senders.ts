// Who sends now, in whatever process and on whatever machine, and what each knows of push services: reported every few
// seconds, so that operators see all of them from any process. Nothing is decided by it.
import { run, type PortableDatabase } from './portable-sql.ts';

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
  /** Of recent answers, on average; absent before the first one. */
  readonly latencyMs?: number | undefined;
  /** Answers since the sender began. */
  readonly answers: number;
  /** Of them, those that asked for fewer messages (429, 503). */
  readonly throttled: number;
  /** `open`: it gets nothing for a while, since it failed. `half-open`: one request tries it. */
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Why it is not closed. */
  readonly breakerReason?: string | undefined;
  /** How long every try has failed without an answer, where that is long enough not to be an accident. */
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
  /** How far the clocks of push services are ahead of the store's; absent before they were compared. */
  readonly clockDifferenceMs?: number | undefined;
  readonly pushServices: readonly ReportedPushService[];
}

export interface StoredSenderReport extends SenderReport {
  readonly seenAtMs: number;
}

/** A sender that has not reported for so long is gone. */
export const reportLifetimeMs = 20_000;

export interface SenderReports {
  /** Replaces the sender's earlier report; deletes those of senders that are gone. */
  put(report: SenderReport): Promise<void>;
  remove(id: string): Promise<void>;
  /** Of the senders that are there, in the order of their start. */
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
