// Schedules: broadcasts that recur. Each time of a schedule is an occurrence; when it has come, a broadcast is made for it.
// Types only.
import type { Message } from '../protocol/message/message.ts';
import type { Urgency } from '../protocol/request.ts';
import type { AudienceExpression } from './people.ts';

/** Whom each occurrence is for, looked at when its time has come. */
export type ScheduleAudience = 'all' | AudienceExpression;

export interface NewSchedule {
  /** Five fields. */
  readonly cron: string;
  /** An IANA name. */
  readonly timezone: string;
  readonly audience: ScheduleAudience;
  readonly message: Message;
  readonly ttlSeconds?: number | undefined;
  readonly urgency?: Urgency | undefined;
  readonly topic?: string | undefined;
  readonly receipts: boolean;
  /** As in `NewBroadcast`. */
  readonly perPerson?: string | undefined;
  /** The first occurrence. */
  readonly nextAtMs: number;
}

/** A broadcast that recurs, as it is stored. */
export interface Schedule extends NewSchedule {
  /** Never used again. */
  readonly id: number;
  readonly createdAtMs: number;
  /** Of the newest occurrence that was sent. */
  readonly lastBroadcastId: number | undefined;
}

export interface DueSchedule extends Schedule {
  /** The time now, by the clock of the database, which all processes share. */
  readonly nowMs: number;
}

/** Stores schedules, and hands out those whose time has come. */
export interface ScheduleStore {
  add(draft: NewSchedule): Promise<Schedule>;
  /** In the order of ids. */
  list(): Promise<readonly Schedule[]>;
  /** @returns false where there is none; broadcasts that it has made stay */
  remove(id: number): Promise<boolean>;
  /** A schedule whose next time has come, the longest due first, which nobody else is given for `leaseMs`. */
  takeDue(leaseMs: number): Promise<DueSchedule | undefined>;
  /**
   * Sets the time of the next occurrence.
   *
   * @param change.fromMs the time that it replaces: where another process has replaced it already, nothing changes
   * @returns false where the schedule has been removed
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
