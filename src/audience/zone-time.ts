// Converts between instants and wall times (what the clocks of a time zone show). A wall time is represented by the
// milliseconds of the instant at which UTC clocks show it. When clocks go forward, an hour is skipped; when they go
// back, an hour occurs twice.
import { DeskbellError } from '../errors/deskbell-error.ts';

const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The maximum number of cached formats. Each format takes tens of kilobytes, and tens of microseconds to create. */
const maxFormats = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws {RangeError} if there is no such time zone */
export function formatOf(timeZone: string): Intl.DateTimeFormat {
  const kept = formats.get(timeZone);
  if (kept !== undefined) return kept;
  // the Swedish format is `2027-01-01 09:00:00`
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  if (formats.size >= maxFormats) formats.clear();
  formats.set(timeZone, format);
  return format;
}

/** True for the name of a time zone, such as `Europe/Berlin` or `UTC`. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Only between these two instants do formatted years have four digits in all time zones. */
const firstMs = Date.UTC(1000, 0, 2);
const lastMs = Date.UTC(9999, 11, 30);

/** @returns the wall time in the zone. Before 1000-01-02 and after 9999-12-29, all zones count as UTC */
export function toWallTime(atMs: number, timeZone: string): number {
  if (atMs < firstMs || atMs >= lastMs) return atMs;
  return Date.parse(`${formatOf(timeZone).format(atMs).replace(' ', 'T')}Z`);
}

/** The instants at which clocks show a time, earliest first: none if clocks skip the time, two if it occurs twice. */
export function instantsOf(wallMs: number, timeZone: string): readonly number[] {
  // the offsets a day before and a day after, which differ if clocks change in between
  const found = [wallMs - dayMs, wallMs + dayMs].map(
    (nearMs) => wallMs - (toWallTime(nearMs, timeZone) - nearMs),
  );
  return [...new Set(found)]
    .filter((atMs) => toWallTime(atMs, timeZone) === wallMs)
    .toSorted((one, other) => one - other);
}

/**
 * The first instant at which clocks show a wall time. If clocks skip it, the first minute after the gap.
 *
 * @param afterMs the result must be later than this instant, except after a gap
 */
export function toInstant(wallMs: number, timeZone: string, afterMs = -Infinity): number {
  const shown = instantsOf(wallMs, timeZone).find((atMs) => atMs > afterMs);
  return shown ?? endOfGap(wallMs, timeZone);
}

/** The first minute at which clocks show this time or a later one. */
function endOfGap(wallMs: number, timeZone: string): number {
  let before = Math.floor((wallMs - dayMs) / minuteMs);
  let after = Math.ceil((wallMs + dayMs) / minuteMs);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (toWallTime(middle * minuteMs, timeZone) < wallMs) before = middle;
    else after = middle;
  }
  return after * minuteMs;
}

const fullTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;
const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Parses `2026-12-01T09:00`. Returns undefined for other text, and for days that do not exist, such as 31 February. */
export function parseWallTime(text: string): number | undefined {
  const wallMs = fullTime.test(text) ? Date.parse(`${text}Z`) : NaN;
  if (Number.isNaN(wallMs) || formatWallTime(wallMs) !== text) return undefined;
  return wallMs;
}

/** `2026-12-01T09:00` */
export const formatWallTime = (wallMs: number): string => new Date(wallMs).toISOString().slice(0, 16);

/** Parses `09:00` into milliseconds since midnight. */
export function parseTimeOfDay(text: string): number | undefined {
  if (!timeOfDay.test(text)) return undefined;
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * hourMs + minutes * minuteMs;
}

/** The next time at or after `fromMs` at which a zone's clocks show this time of day. @returns a wall time */
export function nextTimeOfDay(timeOfDayMs: number, timeZone: string, fromMs: number): number {
  const wallMs = toWallTime(Math.floor(fromMs / minuteMs) * minuteMs, timeZone);
  const atMs = startOfDay(wallMs) + timeOfDayMs;
  return atMs < wallMs ? atMs + dayMs : atMs;
}

/** Midnight at the start of the day, as a wall time. */
const startOfDay = (wallMs: number): number => Math.floor(wallMs / dayMs) * dayMs;

/**
 * Reads quiet hours as senders write them, such as `22:00-07:00`, in the reader's time zone.
 *
 * @returns milliseconds since midnight. If `toMs` is not later than `fromMs`, the quiet hours include midnight
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function parseQuietHours(text: string) {
  const [fromMs, toMs, ...others] = text.split('-').map(parseTimeOfDay);
  if (fromMs !== undefined && toMs !== undefined && fromMs !== toMs && others.length === 0)
    return { fromMs, toMs };
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The quiet hours ${JSON.stringify(text)} are not valid: give two times of a day that differ, such as 22:00-07:00.`,
  );
}

/** @returns the end of the quiet hours that include this time in this zone; undefined if none do */
export function endOfQuietHours(
  { fromMs, toMs }: ReturnType<typeof parseQuietHours>,
  timeZone: string,
  atMs: number,
): number | undefined {
  const wallMs = toWallTime(atMs, timeZone);
  const midnightMs = startOfDay(wallMs);
  const timeMs = wallMs - midnightMs;
  const isOverMidnight = toMs < fromMs;
  const isQuiet = isOverMidnight ? timeMs >= fromMs || timeMs < toMs : timeMs >= fromMs && timeMs < toMs;
  if (!isQuiet) return undefined;
  const endMs = midnightMs + toMs + (timeMs >= toMs ? dayMs : 0);
  // if clocks show the end twice, the first of the two instants may already have passed
  return toInstant(endMs, timeZone, atMs);
}

/** Parses ISO 8601 with a zone. A time without a zone would mean different moments on different machines. */
export function parseIsoTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  // Date turns 31 February into a day in March
  if (parseWallTime(`${text.slice(0, 10)}T00:00`) === undefined) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
