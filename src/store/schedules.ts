// Schedules: broadcasts that recur. A broadcast is created at each occurrence.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Message } from '../protocol/message/message.ts';
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import { type BroadcastCreator, readCreator } from './broadcasts.ts';
import { optionColumns, selectOptions, toOptionRow, type StoredOptions } from './delivery-options.ts';
import { changesAny, nullsToUndefined, run, type PortableDatabase } from './portable-sql.ts';
import { isNotPaused } from './sending.ts';

/**
 * The audience of a schedule. If the audience is an expression by user or tags, the matching subscriptions are looked
 * up again at each occurrence.
 */
export type ScheduleAudience = 'all' | AudienceExpression;

export interface NewSchedule extends StoredOptions {
  /** Five fields. */
  readonly cron: string;
  /** An IANA name. */
  readonly timezone: string;
  readonly audience: ScheduleAudience;
  readonly message: Message;
  readonly receipts: boolean;
  /** `undefined` if it was not recorded. */
  readonly createdBy?: BroadcastCreator | undefined;
  /** The first occurrence. */
  readonly nextAtMs: number;
}

/** A stored schedule. */
export interface Schedule extends NewSchedule {
  /** The schedule's id, which is never reused. */
  readonly id: number;
  readonly createdAtMs: number;
  /** The broadcast of the latest occurrence that was sent. */
  readonly lastBroadcastId: number | undefined;
  /** When the schedule was paused; `undefined` if it is not paused. */
  readonly pausedAtMs: number | undefined;
}

export interface DueSchedule extends Schedule {
  /** The current time, by the database's clock. */
  readonly nowMs: number;
}

/** Stores schedules, and leases due schedules to callers. */
export interface ScheduleStore {
  add(draft: NewSchedule): Promise<Schedule>;
  /** Ordered by id. @param range default: all schedules */
  list(range?: { readonly afterId?: number; readonly limit?: number }): Promise<readonly Schedule[]>;
  /** @throws {DeskbellError} ERR_SCHEDULE_NOT_FOUND if it does not exist */
  get(id: number): Promise<Schedule>;
  /**
   * Pauses a schedule, which then creates no broadcasts. Pausing it again changes nothing.
   *
   * @throws {DeskbellError} ERR_SCHEDULE_NOT_FOUND
   */
  pause(id: number): Promise<Schedule>;
  /**
   * Ends a schedule's pause. Changes nothing if the schedule is not paused.
   *
   * @param nextAtMs the next occurrence; occurrences during the pause are skipped
   * @throws {DeskbellError} ERR_SCHEDULE_NOT_FOUND
   */
  resume(id: number, nextAtMs: number): Promise<Schedule>;
  /** Removes a schedule, but not its broadcasts. @returns false if there is no such schedule */
  remove(id: number): Promise<boolean>;
  /** Returns the schedule that has been due the longest, and leases it to the caller for `leaseMs`. */
  takeDue(leaseMs: number): Promise<DueSchedule | undefined>;
  /**
   * Sets the time of the next occurrence.
   *
   * @param change.fromMs the time to replace; nothing changes if another process has already replaced it
   * @returns false if the schedule has been removed
   */
  advance(
    id: number,
    change: {
      readonly fromMs: number;
      readonly toMs: number;
      readonly broadcastId?: number | undefined;
    },
  ): Promise<boolean>;
}

interface ScheduleRow extends Omit<Schedule, 'audience' | 'message' | 'receipts' | 'createdBy'> {
  /** JSON, like `message` and `createdBy`. */
  readonly audience: string;
  readonly message: string;
  readonly receipts: boolean | number;
  readonly createdBy: string | null;
}

const columns = `id, cron, timezone, audience, message, receipts, created_by as "createdBy",
  created_at_ms as "createdAtMs", next_at_ms as "nextAtMs", last_broadcast_id as "lastBroadcastId",
  paused_at_ms as "pausedAtMs", ${selectOptions}`;

const toSchedule = (row: ScheduleRow): Schedule => ({
  ...nullsToUndefined(row),
  audience: JSON.parse(row.audience) as ScheduleAudience,
  message: JSON.parse(row.message) as Message,
  receipts: Boolean(row.receipts),
  createdBy: readCreator(row.createdBy),
});

const requireOne = ([row]: readonly ScheduleRow[], id: number): Schedule => {
  if (row !== undefined) return toSchedule(row);
  throw new DeskbellError('ERR_SCHEDULE_NOT_FOUND', `There is no schedule ${id}.`);
};

export function createSchedules(database: PortableDatabase): ScheduleStore {
  const selectOne = `select ${columns} from deskbell.schedules where id = :id`;
  // a lease that lasts much longer than others was taken while the clock was ahead
  const selectDue = `
    select ${columns} from deskbell.schedules d
    where d.next_at_ms <= :nowMs and (d.lease_until_ms <= :nowMs or d.lease_until_ms > :latestMs)
      and d.paused_at_ms is null and ${isNotPaused}
    order by d.next_at_ms, d.id limit 1`;

  return {
    add: async (draft) => {
      const [row] = await database.writeOnce<ScheduleRow>(
        `insert into deskbell.schedules (
           cron, timezone, audience, user_name, message, receipts, created_by, next_at_ms, created_at_ms,
           ${optionColumns.join(', ')}
         ) values (
           :cron, :timezone, :audience, :user, :message, :receipts, :createdBy, :nextAtMs, :nowMs,
           ${optionColumns.map((column) => `:${column}`).join(', ')}
         )
         returning ${columns}`,
        {
          cron: draft.cron,
          timezone: draft.timezone,
          audience: JSON.stringify(draft.audience),
          user: draft.audience === 'all' ? null : draft.audience.user,
          message: JSON.stringify(draft.message),
          receipts: draft.receipts,
          createdBy: draft.createdBy && JSON.stringify(draft.createdBy),
          ...toOptionRow(draft),
          nextAtMs: draft.nextAtMs,
          nowMs: database.now(),
        },
      );
      return toSchedule(row!);
    },

    list: async ({ afterId = 0, limit = Number.MAX_SAFE_INTEGER } = {}) => {
      const rows = await database.read<ScheduleRow>(
        `select ${columns} from deskbell.schedules where id > :afterId order by id limit :limit`,
        { afterId, limit },
      );
      return rows.map(toSchedule);
    },

    get: async (id) => requireOne(await database.read<ScheduleRow>(selectOne, { id }), id),

    pause: async (id) => {
      const paused = await database.writeOnce<ScheduleRow>(
        `update deskbell.schedules set paused_at_ms = coalesce(paused_at_ms, :nowMs) where id = :id
         returning ${columns}`,
        { id, nowMs: database.now() },
      );
      return requireOne(paused, id);
    },

    resume: (id, nextAtMs) =>
      database.transaction(function* () {
        yield* run(
          `update deskbell.schedules set paused_at_ms = null, next_at_ms = :nextAtMs
           where id = :id and paused_at_ms is not null`,
          { id, nextAtMs },
        );
        return requireOne(yield* run<ScheduleRow>(selectOne, { id }), id);
      }),

    remove: (id) => changesAny(database, 'delete from deskbell.schedules where id = :id', { id }),

    takeDue: async (leaseMs) => {
      const nowMs = database.now();
      const times = { nowMs, latestMs: nowMs + 2 * leaseMs };
      // look first, because a write makes all other writers wait
      const [due] = await database.read<ScheduleRow>(selectDue, times);
      if (due === undefined) return undefined;
      return database.transaction(function* () {
        const [row] = yield* run<ScheduleRow>(`${selectDue} ${database.skipLocked}`, times);
        if (row === undefined) return undefined;
        yield* run('update deskbell.schedules set lease_until_ms = :untilMs where id = :id', {
          id: row.id,
          untilMs: nowMs + leaseMs,
        });
        return { ...toSchedule(row), nowMs };
      });
    },

    advance: (id, { fromMs, toMs, broadcastId = null }) =>
      database.transaction(function* () {
        yield* run(
          `update deskbell.schedules set next_at_ms = :toMs, lease_until_ms = 0,
             last_broadcast_id = coalesce(:broadcastId, last_broadcast_id)
           where id = :id and next_at_ms = :fromMs`,
          { id, fromMs, toMs, broadcastId },
        );
        return (yield* run('select id from deskbell.schedules where id = :id', { id })).length > 0;
      }),
  };
}
