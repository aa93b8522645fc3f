// The data for alarms: alarms that broadcasts raised, overdue broadcasts and schedules, and acknowledgements.
// `delivery/alarms/` decides which alarms are active.
import { nullsToUndefined, run, type PortableDatabase } from './portable-sql.ts';
import { countsDifferReason } from './broadcasts.ts';
import { isNotPaused } from './sending.ts';
import { allBroadcasts, outcomeWidths } from './statistics.ts';

/**
 * An alarm, combined for all broadcasts that raised it. Only broadcasts that are open or ended within the last day are
 * included. For `counts-differ`, all stored broadcasts are included.
 */
export interface RaisedAlarm {
  readonly origin: string;
  readonly reason: string;
  /** What the push service said about the problem, from the newest broadcast that raised the alarm. */
  readonly detail: string;
  readonly sinceMs: number;
  /** The largest number of rows that the alarm concerns in one broadcast. */
  readonly rows: number;
  /** In ascending order. */
  readonly broadcastIds: readonly number[];
}

/** How a push service responds to our token or key, per VAPID key. */
export interface TokenAnswers {
  readonly origin: string;
  /** When the push service began to refuse all messages; `undefined` if it is not suspended. */
  readonly suspendedSinceMs: number | undefined;
  /** 0 if the push service has accepted nothing. */
  readonly acceptedAtMs: number;
}

/** A running broadcast with work that no worker has leased. */
export interface DueBroadcast {
  readonly id: number;
  /** When the work became available. If that is unknown, the broadcast's start time. */
  readonly sinceMs: number;
  /** True if messages were sent, or if the audience is being prepared. */
  readonly hasBegun: boolean;
}

export interface DueWork {
  /** At most `maxDue`. */
  readonly broadcasts: readonly DueBroadcast[];
  /** At most `maxDue` schedules, longest overdue first. */
  readonly schedules: readonly { readonly id: number; readonly sinceMs: number }[];
  /** When the last message was sent; 0 if none was sent for two hours. */
  readonly lastSentAtMs: number;
}

/** The maximum number of due broadcasts, and of due schedules, per read. */
export const maxDue = 20;

export interface Acknowledgement {
  /** The id of the alarm (`delivery/alarms/standing-alarm.ts`). */
  readonly alarm: string;
  readonly operator: string;
  readonly note: string;
  readonly atMs: number;
  /** The alarm's counts at the time of the acknowledgement. */
  readonly count: number;
  readonly broadcasts: number;
}

export type AlarmStore = ReturnType<typeof createAlarmStore>;

/** How long an alarm stays active after its broadcast has ended. */
export const alarmsKeptMs = 24 * 60 * 60 * 1000;

/** When a broadcast `b` ended. The index has this expression. */
export const endedAtMs = 'coalesce(b.finished_at_ms, b.expires_at_ms)';

/** True for an alarm `a` whose broadcast `b` ended long ago. */
export const isPast = `b.finished_at_ms is not null and b.finished_at_ms < :pastMs and a.reason <> '${countsDifferReason}'`;

const newestDetail = `select d.detail from deskbell.alarms d
  where d.origin = a.origin and d.reason = a.reason and d.is_past = 0 order by d.first_at_ms desc, d.broadcast_id desc limit 1`;

interface DueRow {
  readonly id: number;
  /** Null, like `freeAtMs`, if the broadcast has ended in the meantime. */
  readonly startAtMs: number | null;
  readonly freeAtMs: number | null;
  readonly begun: number | null;
}

/** Selects at most `maxDue` broadcasts from the table `work`, sorted by `column` because there is an index on it. */
const firstOf = (condition: string, column: string): string =>
  `select * from (select broadcast_id, coalesce(slices_at_ms, 0) as at_ms from deskbell.work
                  where ${condition} and not exists (
                    select 1 from deskbell.broadcasts b where b.id = broadcast_id and b.finished_at_ms is not null)
                  order by ${column} limit ${maxDue}) w`;

const dueBroadcasts = `
  select broadcast_id from (${[
    ...[false, true].flatMap((isHigh) => [
      firstOf(`is_high = ${isHigh} and slices_at_ms <= :nowMs`, 'slices_at_ms, broadcast_id'),
      firstOf(`is_high = ${isHigh} and next_slice is not null`, 'next_slice, broadcast_id'),
    ]),
    firstOf('retries_at_ms <= :nowMs', 'retries_at_ms'),
  ].join(' union all ')}) u
  group by broadcast_id order by min(at_ms), broadcast_id limit ${maxDue}`;

export function createAlarmStore(database: PortableDatabase) {
  return {
    raised: async (): Promise<readonly RaisedAlarm[]> => {
      const rows = await database.read<Omit<RaisedAlarm, 'broadcastIds'> & { readonly ids: unknown }>(
        `select a.origin, a.reason, (${newestDetail}) as detail, min(a.first_at_ms) as "sinceMs", max(a.rows) as rows,
                ${database.jsonArray}(a.broadcast_id) as ids
         from deskbell.alarms a join deskbell.broadcasts b on b.id = a.broadcast_id
         where a.is_past = 0 and not (${isPast})
         group by a.origin, a.reason order by a.origin, a.reason`,
        { pastMs: database.now() - alarmsKeptMs },
      );
      return rows.map(({ ids, ...alarm }) => ({
        ...alarm,
        broadcastIds: database.readJson<readonly number[]>(ids).toSorted((one, other) => one - other),
      }));
    },

    tokenAnswers: async () => {
      const rows = await database.read<TokenAnswers>(
        `select origin, suspended_since_ms as "suspendedSinceMs", accepted_at_ms as "acceptedAtMs"
         from deskbell.push_services order by origin`,
      );
      return rows.map(nullsToUndefined);
    },

    dueWork: async (): Promise<DueWork> => {
      const nowMs = database.now();
      const [broadcasts, preparing, schedules, [sent]] = await Promise.all([
        // read details in subqueries, so that each uses an index even if there are few broadcasts
        database.read<DueRow>(
          `select d.broadcast_id as id,
             (select b.start_at_ms from deskbell.broadcasts b where b.id = d.broadcast_id) as "startAtMs",
             (select w.slices_at_ms from deskbell.work w where w.broadcast_id = d.broadcast_id) as "freeAtMs",
             (select 1 from deskbell.origin_counts c where c.broadcast_id = d.broadcast_id limit 1) as begun
           from (${dueBroadcasts}) d`,
          { nowMs },
        ),
        database.read<{ readonly id: number; readonly sinceMs: number }>(
          `select b.id, case when p.lease_until_ms > b.created_at_ms
                             then p.lease_until_ms else b.created_at_ms end as "sinceMs"
           from deskbell.preparations p join deskbell.broadcasts b on b.id = p.broadcast_id
           where p.is_paused = 0 and p.lease_until_ms <= :nowMs order by "sinceMs", b.id limit ${maxDue}`,
          { nowMs },
        ),
        database.read<{ readonly id: number; readonly sinceMs: number }>(
          `select id, next_at_ms as "sinceMs" from deskbell.schedules
           where next_at_ms <= :nowMs and paused_at_ms is null and ${isNotPaused} order by next_at_ms, id limit ${maxDue}`,
          { nowMs },
        ),
        database.read<{ readonly atMs: number }>(
          `select start_ms as "atMs" from deskbell.outcome_intervals
           where broadcast_id = ${allBroadcasts} and width_ms = ${outcomeWidths.fine.widthMs}
           order by start_ms desc limit 1`,
        ),
      ]);
      return {
        broadcasts: [
          ...broadcasts.map(({ id, startAtMs, freeAtMs, begun }) => {
            // leased work becomes available when its lease ends
            const freeSinceMs = freeAtMs !== null && freeAtMs <= nowMs ? freeAtMs : 0;
            return { id, sinceMs: Math.max(startAtMs ?? nowMs, freeSinceMs), hasBegun: begun !== null };
          }),
          ...preparing.map((row) => ({ ...row, hasBegun: false })),
        ]
          .toSorted((one, other) => one.sinceMs - other.sinceMs)
          .slice(0, maxDue),
        schedules,
        lastSentAtMs: sent?.atMs ?? 0,
      };
    },

    acknowledgements: () =>
      database.read<Acknowledgement>(
        `select alarm, operator, note, at_ms as "atMs", count, broadcasts
         from deskbell.acknowledgements order by alarm`,
      ),

    /** Replaces an earlier acknowledgement of the same alarm. */
    acknowledge: ({ alarm, operator, note, count, broadcasts }: Omit<Acknowledgement, 'atMs'>) =>
      database.write(
        `insert into deskbell.acknowledgements (alarm, operator, note, at_ms, count, broadcasts)
         values (:alarm, :operator, :note, :nowMs, :count, :broadcasts)
         on conflict (alarm) do update set operator = excluded.operator, note = excluded.note,
           at_ms = excluded.at_ms, count = excluded.count, broadcasts = excluded.broadcasts`,
        { alarm, operator, note, count, broadcasts, nowMs: database.now() },
      ),

    /** Removes acknowledgements of alarms that have ended or become worse, unless new ones replaced them. */
    endAcknowledgements: (ended: readonly Acknowledgement[]) =>
      database.transaction(function* () {
        for (const { alarm, atMs } of ended)
          yield* run('delete from deskbell.acknowledgements where alarm = :alarm and at_ms = :atMs', {
            alarm,
            atMs,
          });
      }),
  };
}
