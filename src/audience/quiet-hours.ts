// Quiet hours, as senders write them: `22:00-07:00` of the reader's time zone. They are stored with the broadcast.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { dayMs, parseTimeOfDay, startOfDay, toInstant, toWallTime } from './zone-time.ts';

export interface QuietHours {
  /** Milliseconds since midnight. */
  readonly fromMs: number;
  /** Before or at `fromMs`: they last over midnight. */
  readonly toMs: number;
}

/** @throws {DeskbellError} ERR_MESSAGE_INVALID */
export function parseQuietHours(text: string): QuietHours {
  const [fromMs, toMs, ...others] = text.split('-').map(parseTimeOfDay);
  if (fromMs !== undefined && toMs !== undefined && fromMs !== toMs && others.length === 0)
    return { fromMs, toMs };
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The quiet hours ${JSON.stringify(text)} are not valid: give two times of a day that differ, such as 22:00-07:00.`,
  );
}

/** @returns when the quiet hours end that a zone has at a time; undefined where it has none then */
export function endOfQuietHours(
  { fromMs, toMs }: QuietHours,
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
  // of an hour that comes twice, the end may have been there before
  return toInstant(endMs, timeZone, atMs);
}
