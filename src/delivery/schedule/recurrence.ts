// When a schedule has its occurrences: cron with five fields, in a time zone. Where clocks are put forward, a fixed time in
// the gap comes at its end, and times of a pattern with "*" or a step are left out; where they are put back, a fixed time
// comes once, the first time, and the others in both of the hours.
import { Cron } from 'croner';
import { isTimeZone } from '../../audience/zone-time.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/** Times after a given one. */
export interface Recurrence {
  /** @returns milliseconds since 1970; `undefined` where there is none any more */
  after(timeMs: number): number | undefined;
}

/** @throws {DeskbellError} ERR_SCHEDULE_INVALID */
export function readRecurrence(cron: string, timezone: string): Recurrence {
  if (!isTimeZone(timezone)) {
    throw invalid(`"${timezone}" is not a time zone; give an IANA name such as Europe/Berlin, or UTC.`);
  }
  const job = readCron(cron, timezone);
  return { after: (timeMs) => job.nextRun(new Date(timeMs))?.getTime() };
}

function readCron(cron: string, timezone: string): Cron {
  // the parser takes a single time as well, and names such as @daily
  if (!/^\s*(?:[^\s@]+\s+){4}[^\s@]+\s*$/.test(cron)) {
    throw invalid(
      `"${cron}" is not a cron expression; it has five fields: minute, hour, day of the month, month, day of the week.`,
    );
  }
  try {
    return new Cron(cron, { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true });
  } catch (cause) {
    const detail = (cause as Error).message.replace(/^CronPattern: /, '');
    throw invalid(`"${cron}" is not a cron expression: ${detail}`, cause);
  }
}

const invalid = (detail: string, cause?: unknown): DeskbellError =>
  new DeskbellError('ERR_SCHEDULE_INVALID', detail, { cause });
