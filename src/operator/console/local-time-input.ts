// Inputs for times in the operator's own zone. The page's script puts the browser's zone into the form. Without the
// script, times are in UTC, and the form says so.
import { formatWallTime, instantsOf, isTimeZone, toInstant, toWallTime } from '../../audience/zone-time.ts';
import { fromNow } from '../../client/console/from-now.ts';
import { maxLateMs } from '../../delivery/broadcast/create-broadcast.ts';
import { html, type Html } from '../../http/description/html.ts';
import { cut } from '../../http/problem.ts';
import { searchField } from './components.ts';
import { fieldFault, type Fields, textField, textFields } from './forms.ts';

/** The value of the field; undefined if it is empty. */
export function toTime(fields: Fields, name: string): Date | undefined {
  const text = textField(fields, name);
  return text === '' ? undefined : new Date(readLocalTime(text, fields, name));
}

/** Reads the start, which must not be in the past; undefined means now. */
export function toStart(fields: Fields, nowMs: number): Date | undefined {
  const startAt = toTime(fields, 'startAt');
  if (startAt === undefined || startAt.getTime() >= nowMs - maxLateMs) return startAt;
  throw fieldFault(
    'startAt',
    `The start, ${describeLocalTime(startAt.getTime(), fields, nowMs)}, is more than a minute ago; ` +
      'give a time to come, or leave it empty to send now.',
  );
}

export const zoneName = 'zone';

const zoneOf = (fields: Fields): string => fields[zoneName] || 'UTC';

/** The hidden field with the time zone. Each form with times needs this field once. */
export const zoneField = (fields: Fields): Html =>
  html`<input type="hidden" name="${zoneName}" value="${zoneOf(fields)}" data-zone />`;

/** The time zone to show in the label of a time field. */
export const zoneLabel = (fields: Fields): Html => html`<span data-zone>${zoneOf(fields)}</span>`;

/**
 * Reads the value of `<input type="datetime-local">` or `<input type="date">` in the form's zone (for a day: midnight).
 *
 * @param text `2027-01-01T09:00`, with or without seconds, or `2027-01-01`
 * @returns milliseconds since 1970
 * @throws {DeskbellError} ERR_FIELD_VALUE if it is not a time, or does not exist in this zone because clocks go forward
 */
export function readLocalTime(text: string, fields: Fields, name: string): number {
  const zone = checkZone(zoneOf(fields));
  const wallMs = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/.test(text)
    ? Date.parse(text.includes('T') ? `${text}Z` : text)
    : NaN;
  // Date turns 31 February into 3 March
  if (Number.isNaN(wallMs) || !new Date(wallMs).toISOString().startsWith(text))
    throw fieldFault(
      name,
      `"${cut(text, shownCharacters)}" is not a time; give one such as 2027-01-01T09:00.`,
    );
  const [first] = instantsOf(wallMs, zone);
  if (first !== undefined) return first;
  throw fieldFault(
    name,
    `${text.replace('T', ' ')} does not exist in ${zone}: the clocks go forward; give a later time.`,
  );
}

/**
 * Reads the days, with their time zone, by which a list is filtered; the last day is included. The links of the list
 * repeat these fields, so invalid days are dropped.
 */
export function readDays(query: unknown): Fields {
  const given = textFields(query, ['since', 'until']);
  const days = Object.fromEntries(
    Object.entries(given).filter(([, text]) => /^\d{4}-\d{2}-\d{2}$/.test(text)),
  );
  return Object.keys(days).length === 0 ? {} : { ...days, ...textFields(query, [zoneName]) };
}

/** @param label the label of the field for the first day */
export const dayFields = (days: Fields, label: string): readonly Html[] => [
  searchField(days, 'since', html`${label} (${zoneLabel(days)})`, html`type="date"`),
  searchField(days, 'until', html`to (${zoneLabel(days)})`, html`type="date"`),
  zoneField(days),
];

/**
 * Returns the interval from the first to the last day, in the zone of the form.
 *
 * @throws {DeskbellError} ERR_FIELD_VALUE if the zone is invalid
 */
export function toInterval({ since = '', until = '', ...zone }: Fields): {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
} {
  return { sinceMs: startOfDay(since, 0, zone), untilMs: startOfDay(until, dayMs, zone) };
}

/** @returns undefined if `text` is not a day. If clocks go forward at midnight, the day begins after midnight */
function startOfDay(text: string, afterMs: number, zone: Fields): number | undefined {
  const wallMs = Date.parse(text) + afterMs;
  if (Number.isNaN(wallMs)) return undefined;
  return toInstant(wallMs, checkZone(zoneOf(zone)));
}

/** Formats a time as the value of `<input type="datetime-local">`: `2027-01-01T09:00`. */
export function toLocalTime(atMs: number, fields: Fields): string {
  return formatWallTime(toWallTime(atMs, checkZone(zoneOf(fields))));
}

/** `2027-01-01 09:00 Europe/Berlin (UTC+01:00), in 3 h`: a time, in the time zone of the form in which it was typed. */
export function describeLocalTime(atMs: number, fields: Fields, nowMs: number): string {
  const zone = checkZone(zoneOf(fields));
  const wallMs = toWallTime(atMs, zone);
  const isTwice = instantsOf(wallMs, zone).length > 1;
  const parts = [
    `${toLocalTime(atMs, fields).replace('T', ' ')} ${zone}${formatOffset(wallMs - atMs)}`,
    ...(isTwice ? ['the first of two times that day'] : []),
    fromNow(atMs - nowMs),
  ];
  return parts.join(', ');
}

/** ` (UTC+01:00)`; nothing for UTC itself. */
function formatOffset(offsetMs: number): string {
  const minutes = Math.abs(Math.round(offsetMs / minuteMs));
  if (minutes === 0) return '';
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return ` (UTC${offsetMs < 0 ? '-' : '+'}${hours}:${rest})`;
}

/** The maximum number of characters of an invalid time or zone that an error shows. */
const shownCharacters = 40;
const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** @throws {DeskbellError} ERR_FIELD_VALUE if the zone is invalid */
function checkZone(timeZone: string): string {
  if (isTimeZone(timeZone)) return timeZone;
  throw fieldFault(
    zoneName,
    `"${cut(timeZone, shownCharacters)}" is not a time zone; give an IANA name such as Europe/Berlin, or UTC.`,
  );
}
