// Determines when each reader gets a broadcast in their own time zone: at a local time, outside quiet hours.
import {
  endOfQuietHours,
  isTimeZone,
  parseQuietHours,
  parseWallTime,
  toInstant,
} from '../audience/zone-time.ts';
import type { StoredOptions } from './delivery-options.ts';

/** The options that affect when messages are sent. `localTime` must include the date. */
export interface TimeOptions extends Pick<
  StoredOptions,
  'localTime' | 'ifTimePassed' | 'quietHours' | 'timeZone'
> {
  readonly startAtMs: number;
  readonly ttlSeconds: number;
}

export interface ReaderTime {
  readonly fromMs: number;
  readonly expiresAtMs: number;
  /** True if the broadcast's local time had passed in the reader's time zone when the broadcast started. */
  readonly isPassed: boolean;
  /** True if readers get the message on a later day, because the local time had already passed. */
  readonly isNextDay: boolean;
  /** True if `fromMs` is the end of quiet hours. */
  readonly isHeld: boolean;
  /** True if `fromMs` is in quiet hours that end after the message has expired. */
  readonly isQuiet: boolean;
}

/** The TTL is for push services. Even with a short TTL, sending to a large audience takes a while. */
const minLifetimeMs = 60 * 60 * 1000;
const minuteMs = 60 * 1000;
const dayMs = 24 * 60 * minuteMs;

/** How long a row may wait to be sent. */
export const lifetimeOf = (ttlSeconds: number): number => Math.max(ttlSeconds * 1000, minLifetimeMs);

/** True if readers in different time zones get the broadcast at different times. */
export const hasReaderTimes = ({ localTime, quietHours }: StoredOptions): boolean =>
  localTime !== undefined || quietHours !== undefined;

/** @returns a function that says when readers in a time zone get the broadcast. No zone means the broadcast's own. */
export function createReaderTimes(options: TimeOptions): (timeZone: string | undefined) => ReaderTime {
  const { localTime, ifTimePassed = 'nextDay', quietHours, startAtMs, ttlSeconds } = options;
  const wallMs = localTime === undefined ? undefined : parseWallTime(localTime);
  const quiet = quietHours === undefined ? undefined : parseQuietHours(quietHours);
  const lifetimeMs = lifetimeOf(ttlSeconds);
  // round the start down to the minute
  const startMinuteMs = Math.floor(startAtMs / minuteMs) * minuteMs;

  /** Returns when a message that is due at `dueMs` is sent: at that time, or after quiet hours. */
  const afterQuietHours = (
    dueMs: number,
    zone: string,
  ): Pick<ReaderTime, 'fromMs' | 'isHeld' | 'isQuiet'> => {
    const quietEndMs = quiet && endOfQuietHours(quiet, zone, dueMs);
    const isHeld = quietEndMs !== undefined && quietEndMs < dueMs + lifetimeMs;
    return { fromMs: isHeld ? quietEndMs : dueMs, isHeld, isQuiet: quietEndMs !== undefined && !isHeld };
  };

  /** Returns the first due time, on this day or later, that has not passed after a delay by quiet hours. */
  const nextDue = (dayWallMs: number, zone: string): number => {
    const dueMs = toInstant(dayWallMs, zone);
    return afterQuietHours(dueMs, zone).fromMs < startMinuteMs ? nextDue(dayWallMs + dayMs, zone) : dueMs;
  };

  return (timeZone) => {
    const zone = zoneOf(options, timeZone);
    const localMs = wallMs === undefined ? startAtMs : toInstant(wallMs, zone);
    const isPassed = localMs < startMinuteMs;
    // quiet hours and clock changes delay a message by less than two days
    const passedDays = Math.max(Math.floor((startMinuteMs - localMs) / dayMs) - 2, 0);
    const dueMs =
      isPassed && ifTimePassed === 'nextDay'
        ? nextDue(wallMs! + passedDays * dayMs, zone)
        : Math.max(localMs, startAtMs);
    const { fromMs, isHeld, isQuiet } = afterQuietHours(dueMs, zone);
    const isNextDay = isPassed && dueMs > Math.max(localMs, startAtMs);
    return { fromMs, expiresAtMs: fromMs + lifetimeMs, isPassed, isNextDay, isHeld, isQuiet };
  };
}

/** @returns a function that says when a time zone's current quiet hours end; `undefined` outside of quiet hours */
export function createQuietTimes(
  options: StoredOptions,
): ((timeZone: string | undefined, atMs: number) => number | undefined) | undefined {
  const { quietHours } = options;
  if (quietHours === undefined) return undefined;
  const quiet = parseQuietHours(quietHours);
  const known = new Map<string, { readonly minute: number; readonly endMs: number | undefined }>();
  return (timeZone, atMs) => {
    const zone = zoneOf(options, timeZone);
    // quiet hours begin and end at whole minutes
    const minute = Math.floor(atMs / minuteMs);
    const last = known.get(zone);
    if (last?.minute === minute) return last.endMs;
    const endMs = endOfQuietHours(quiet, zone, atMs);
    known.set(zone, { minute, endMs });
    return endMs;
  };
}

/** The time zone that decides when a reader gets the broadcast. */
export const zoneOf = ({ timeZone: own = 'UTC' }: StoredOptions, timeZone: string | undefined): string =>
  timeZone !== undefined && isTimeZone(timeZone) ? timeZone : own;
