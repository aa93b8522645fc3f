// Log records as lines for people: time, level, event, other members as JSON, and an error's stack below.

import { escapeControls } from '../errors/untrusted-text.ts';

interface LogRecord {
  /** As pino counts: 30 is info, 50 error. */
  readonly level: number;
  readonly time: string;
  readonly event?: string;
  readonly mechanism?: string;
  readonly phase?: string;
  readonly method?: string;
  readonly url?: string;
  readonly error?: { readonly stack: string };
}

export function formatRecord(json: string): string {
  const { level, time, event, mechanism, phase, method, url, error, ...members } = JSON.parse(
    json,
  ) as LogRecord;
  const words = [
    timeOfDay(new Date(time)),
    level >= 50 ? 'ERROR' : 'INFO ',
    ...[event, mechanism, phase, method, url].filter((word) => word !== undefined),
  ];
  if (Object.keys(members).length > 0) words.push(JSON.stringify(members));
  const stack = error === undefined ? [] : error.stack.split('\n').map((line) => `    ${line}`);
  return [words.join(' '), ...stack].map((line) => `${escapeControls(line)}\n`).join('');
}

/** `09:05:07.042`, in the local time zone. */
function timeOfDay(date: Date): string {
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const clock = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
