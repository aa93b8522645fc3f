// Dates as databases write them.
import { parseWallTime } from '../../audience/zone-time.ts';

const pattern =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:(Z|UTC)|([+-]\d\d):?(\d\d)?)?)?$/;

/** Below it, a number is in seconds: as milliseconds it would be in March 1973. */
const firstMilliseconds = 100_000_000_000;

/**
 * @param value a date with or without a time, in UTC where it names no zone; or seconds or milliseconds since 1970
 * @returns milliseconds since 1970; undefined for anything else
 */
export function parseDate(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).trim();
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text);
    return inRange(Math.round(number < firstMilliseconds ? number * 1000 : number));
  }
  const [, day, time = '00:00', , hours, minutes = '00'] = pattern.exec(text) ?? [];
  // of 31 February, Date makes a day in March
  if (parseWallTime(`${day}T00:00`) === undefined) return undefined;
  return inRange(Date.parse(`${day}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`));
}

/** Not before 2000: no subscription is that old, and programs write 1970 for what is not known. */
const inRange = (timeMs: number): number | undefined =>
  timeMs >= 946_684_800_000 && timeMs <= 8.64e15 ? timeMs : undefined;
