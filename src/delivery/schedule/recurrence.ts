// The occurrences of a schedule: a cron expression with five fields, in a time zone. When clocks go forward, a fixed
// time in the gap occurs at the end of the gap, and times of a pattern with "*" or a step are skipped. When clocks go
// back, a fixed time occurs once, in the first of the two hours; times of a pattern occur in both.
import { Cron } from 'croner';
import { isTimeZone, toInstant, toWallTime } from '../../audience/zone-time.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/** Returns the next occurrence in milliseconds since 1970; `undefined` if there are no more. */
export type NextAfter = (timeMs: number) => number | undefined;

/** @throws {DeskbellError} ERR_SCHEDULE_INVALID */
export function readRecurrence(cron: string, timezone: string): NextAfter {
  if (!isTimeZone(timezone)) {
    throw invalid(`"${timezone}" is not a time zone; give an IANA name such as Europe/Berlin, or UTC.`);
  }
  const [minute = '', hour = ''] = cron.trim().split(/\s+/);
  if (/[*?/]/.test(minute + hour)) {
    const job = readCron(cron, timezone);
    return (timeMs) => nextRun(job, timeMs);
  }
  const wallTimes = readCron(cron, 'UTC');
  return (timeMs) => nextFixed(wallTimes, timezone, timeMs);
}

/**
 * Returns when a schedule is first due.
 *
 * @throws {DeskbellError} ERR_SCHEDULE_INVALID, including when there is no future time
 */
export function firstTimeAfter(timeMs: number, cron: string, timezone: string): number {
  const firstMs = readRecurrence(cron, timezone)(timeMs);
  if (firstMs === undefined) throw invalid(`"${cron}" names no time to come.`);
  return firstMs;
}

/** @param wallTimes the fixed times as local clocks show them */
function nextFixed(wallTimes: Cron, timezone: string, timeMs: number): number | undefined {
  let wallMs = nextRun(wallTimes, toWallTime(timeMs, timezone));
  while (wallMs !== undefined) {
    const atMs = toInstant(wallMs, timezone);
    // skip times that have already occurred: if clocks go back, some times repeat; if clocks go forward, every skipped
    // time counts as the end of the gap
    if (atMs > timeMs) return atMs;
    wallMs = nextRun(wallTimes, wallMs);
  }
  return undefined;
}

const nextRun = (job: Cron, timeMs: number): number | undefined => job.nextRun(new Date(timeMs))?.getTime();

function readCron(cron: string, timezone: string): Cron {
  // the parser would also accept a single time, and names such as @daily
  if (!/^\s*(?:[^\s@]+\s+){4}[^\s@]+\s*$/.test(cron)) {
    throw invalid(
      `"${cron}" is not a cron expression; it has five fields: minute, hour, day of the month, month, day of the week.`,
    );
  }
  const [, , day = '', , weekday = ''] = cron.trim().split(/\s+/);
  try {
    // as in cron: if one of the day fields begins with "*", a day must match both; otherwise one match is enough
    const domAndDow = day.startsWith('*') || weekday.startsWith('*');
    return new Cron(cron, { timezone, mode: '5-part', paused: true, domAndDow });
  } catch (cause) {
    const detail = (cause as Error).message.replace(/^CronPattern: /, '');
    throw invalid(`"${cron}" is not a cron expression: ${detail}`, cause);
  }
}

const invalid = (detail: string, cause?: unknown): DeskbellError =>
  new DeskbellError('ERR_SCHEDULE_INVALID', detail, { cause });
