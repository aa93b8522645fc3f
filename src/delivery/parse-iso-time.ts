// Times as people and applications give them.
import { parseWallTime } from '../audience/zone-time.ts';

/** ISO 8601 with a zone: a time without one would mean another moment on another machine. */
export function parseIsoTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  // of 31 February, Date makes a day in March
  if (parseWallTime(`${text.slice(0, 10)}T00:00`) === undefined) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
