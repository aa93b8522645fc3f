// Figures over time. They are counted in the same transaction as the events, and need few rows.
import { type OriginCounts, settlements } from './broadcasts.ts';
import { type PortableDatabase, type PortableValues, run, type Work } from './portable-sql.ts';

// The columns for outcomes, and SQL made from them. A new outcome needs an entry in `settlements`, and a column of
// the same name in both databases.
export const outcomeColumns = ['attempts', ...settlements] as const;

type OutcomeColumn = (typeof outcomeColumns)[number];

const join = (toText: (column: OutcomeColumn) => string): string => outcomeColumns.map(toText).join(', ');

/** The counts before anything is sent. */
export const noOutcomes = Object.fromEntries(outcomeColumns.map((column) => [column, 0])) as Readonly<
  Record<OutcomeColumn, number>
>;

export const listColumns = join(String);

/** The outcome columns as parameters of an SQLite statement. */
export const listParameters = join((column) => `:${column}`);

/** The update clause of an upsert into table `c`. It adds the new counts to the existing row. */
export const addColumns = join((column) => `${column} = c.${column} + excluded.${column}`);

export const sumColumns = join((column) => `sum(${column}) as ${column}`);

/** SQL for the number of rows that have an outcome. */
export const settledRows = settlements.join(' + ');

/** Subscriptions gained and lost on one day. */
export interface SubscriptionDay {
  /** Midnight UTC. */
  readonly startMs: number;
  readonly gained: number;
  /** Subscriptions that a user or an operator removed, or that a push service called gone. */
  readonly lost: number;
}

/** Outcomes of messages to one push service in an interval. */
export interface OutcomeInterval extends Omit<OriginCounts, 'origin'> {
  readonly startMs: number;
  readonly widthMs: number;
  /** The name that `pushServiceName` returns. */
  readonly pushService: string;
}

/** The widths of the intervals in which outcomes are counted (including single messages), and how long each is kept. */
export const outcomeWidths = {
  fine: { widthMs: 10_000, keptMs: 2 * 60 * 60 * 1000 },
  coarse: { widthMs: 10 * 60 * 1000, keptMs: 90 * 24 * 60 * 60 * 1000 },
} as const;

/** Widths of a broadcast's intervals. They grow, so that even several weeks take only a few hundred intervals. */
export const broadcastWidths = [
  { untilMs: 2 * 60 * 1000, widthMs: 1000 },
  { untilMs: 20 * 60 * 1000, widthMs: 10_000 },
  { untilMs: 6 * 60 * 60 * 1000, widthMs: 60_000 },
  { untilMs: Infinity, widthMs: 60 * 60 * 1000 },
] as const;

/** Returns the interval of a broadcast that contains this time. */
export function broadcastInterval(startAtMs: number, nowMs: number): { startMs: number; widthMs: number } {
  const elapsedMs = Math.max(0, nowMs - startAtMs);
  const { widthMs } = broadcastWidths.find(({ untilMs }) => elapsedMs < untilMs)!;
  return { startMs: startAtMs + Math.floor(elapsedMs / widthMs) * widthMs, widthMs };
}

/** Outcomes of all messages to one push service since counting began. */
export type OutcomeTotal = Omit<OutcomeInterval, 'startMs' | 'widthMs'>;

/** The remaining work of all broadcasts that are running and have started. */
export interface Backlog {
  /** Rows without an outcome. */
  readonly pendingRows: number;
  /** Pending rows that can be sent now. */
  readonly sendableRows: number;
  /** Pending rows that were tried and will be retried. */
  readonly retryRows: number;
  /** Pending rows that were deferred and not tried yet. */
  readonly deferredRows: number;
  /** Pending rows that are held back because their push service refuses our token or key. */
  readonly suspendedRows: number;
  /** Number of alarms by reason, including those of paused broadcasts. */
  readonly alarms: readonly { readonly reason: string; readonly count: number }[];
}

export type Statistics = ReturnType<typeof createStatistics>;

const dayMs = 24 * 60 * 60 * 1000;

/** The `broadcast_id` of intervals in which messages are counted whatever their broadcast. */
export const allBroadcasts = 0;

/** The `width_ms` of the rows that count all messages since counting began. */
export const totalWidthMs = 0;

export function createStatistics(database: PortableDatabase) {
  const byService = `push_service collate ${database.byBytes}`;

  const intervals = (condition: string, values: PortableValues): Promise<readonly OutcomeInterval[]> =>
    database.read(
      `select start_ms as "startMs", width_ms as "widthMs", push_service as "pushService", ${sumColumns}
       from deskbell.outcome_intervals where ${condition} group by start_ms, width_ms, push_service order by start_ms, ${byService}`,
      values,
    );

  return {
    /** Returns the days from `sinceMs` on, in order, without days on which nothing changed. */
    subscriptionDays: async (sinceMs: number): Promise<readonly SubscriptionDay[]> => {
      const rows = await database.read<Omit<SubscriptionDay, 'startMs'> & { readonly day: number }>(
        `select day, sum(gained) as gained, sum(lost) as lost from deskbell.subscription_days
         where day >= :sinceDay group by day order by day`,
        { sinceDay: Math.floor(sinceMs / dayMs) },
      );
      return rows.map(({ day, gained, lost }) => ({ startMs: day * dayMs, gained, lost }));
    },
    /** Returns the outcomes of all messages in order, without intervals in which nothing was sent. */
    outcomes: (range: { readonly width: keyof typeof outcomeWidths; readonly sinceMs: number }) =>
      intervals('broadcast_id = :allBroadcasts and width_ms = :widthMs and start_ms >= :sinceMs', {
        allBroadcasts,
        widthMs: outcomeWidths[range.width].widthMs,
        sinceMs: Math.trunc(range.sinceMs),
      }),
    /** Returns totals, which never decrease, with the most used push service first. */
    outcomeTotals: () =>
      database.read<OutcomeTotal>(
        `select push_service as "pushService", ${sumColumns} from deskbell.outcome_intervals
         where broadcast_id = ${allBroadcasts} and width_ms = ${totalWidthMs} group by push_service order by sum(attempts) desc, ${byService}`,
      ),
    backlog: async (): Promise<Backlog> => {
      const [rows] = await database.read<
        Omit<Backlog, 'alarms' | 'sendableRows'> & { readonly laterRows: number }
      >(
        `select
           (select coalesce(sum(b.audience
              - coalesce((select sum(${settledRows}) from deskbell.origin_counts where broadcast_id = b.id), 0)
              - coalesce((select sum(rows) from deskbell.removed_rows where broadcast_id = b.id), 0)), 0)
            from deskbell.broadcasts b where b.state = 'running' and b.start_at_ms <= :nowMs) as "pendingRows",
           (select coalesce(sum(a.rows), 0)
            from deskbell.broadcasts b join deskbell.slices s on s.broadcast_id = b.id
            join deskbell.audience_sets a on a.audience_id = b.audience_id and a.number = s.number
            where b.state = 'running' and b.start_at_ms <= :nowMs and coalesce(b.local_time, b.quiet_hours) is not null
              and s.token is null and s.lease_until_ms > :nowMs) as "laterRows",
           coalesce(sum(w.rows) filter (where w.push_service_id = 0), 0) as "retryRows",
           coalesce(sum(w.rows) filter (where w.push_service_id = -1), 0) as "deferredRows",
           coalesce(sum(w.rows) filter (where w.push_service_id > 0), 0) as "suspendedRows"
         from deskbell.waiting_rows w join deskbell.broadcasts b on b.id = w.broadcast_id
         where b.state = 'running'`,
        { nowMs: database.now() },
      );
      const alarms = await database.read<Backlog['alarms'][number]>(
        `select a.reason, count(*) as count from deskbell.alarms a
         join deskbell.broadcasts b on b.id = a.broadcast_id
         where b.state in ('running', 'paused') and b.finished_at_ms is null group by a.reason order by a.reason`,
      );
      const { laterRows, ...found } = rows!;
      const { pendingRows, retryRows, deferredRows, suspendedRows } = found;
      return {
        ...found,
        sendableRows: pendingRows - laterRows - retryRows - deferredRows - suspendedRows,
        alarms,
      };
    },
    /** Returns the outcomes of one broadcast. */
    outcomesOf: (broadcastId: number) => intervals('broadcast_id = :broadcastId', { broadcastId }),
  };
}

const keyOfInterval = 'broadcast_id, width_ms, start_ms, push_service';

/**
 * Merges the shards of each interval to which transactions no longer write: the intervals of a broadcast that is over,
 * and the past day's intervals of all broadcasts together.
 */
export function* mergeIntervals(broadcastId: number, nowMs: number): Work<void> {
  const { widthMs } = outcomeWidths.coarse;
  const day = { fromMs: nowMs - dayMs, untilMs: nowMs - 2 * widthMs };
  const ofAll = `broadcast_id = ${allBroadcasts} and width_ms = ${widthMs}`;
  const all: readonly (readonly [intervals: string, values: PortableValues])[] = [
    ['broadcast_id = :broadcastId', { broadcastId }],
    [`${ofAll} and start_ms between :fromMs and :untilMs`, day],
  ];
  for (const [intervals, values] of all) {
    const shards = `deskbell.outcome_intervals where ${intervals} and shard > ${mergedShard}`;
    // SQLite has a single shard
    const [more] = yield* run(`select 1 as more from ${shards} and shard > 0 limit 1`, values);
    if (more === undefined) continue;
    yield* run(
      `insert into deskbell.outcome_intervals as c (${keyOfInterval}, shard, ${listColumns})
       select ${keyOfInterval}, ${mergedShard}, ${sumColumns} from ${shards} group by ${keyOfInterval}
       on conflict (${keyOfInterval}, shard) do update set ${addColumns}`,
      values,
    );
    yield* run(`delete from ${shards}`, values);
  }
}

const mergedShard = -1;
