// Times as an operator types them, in the operator's own zone. The script of the page puts the browser's zone into the form; without
// it, times are in UTC, and the form says so.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { Fields } from './forms.ts';

/** The field of a form that says in which zone its times are. */
export const zoneName = 'zone';

const zoneOf = (fields: Fields): string => fields[zoneName] || 'UTC';

/** To stand once in each form with times. */
export const zoneField = (fields: Fields): Html =>
  html`<input type="hidden" name="${zoneName}" value="${zoneOf(fields)}" data-zone />`;

/** Names the zone in the label of a time. */
export const zoneLabel = (fields: Fields): Html => html`<span data-zone>${zoneOf(fields)}</span>`;

/**
 * What `<input type="datetime-local">` or `<input type="date">` holds, in the zone of its form; a day is its midnight.
 *
 * @param text `2027-01-01T09:00`, with seconds too, or `2027-01-01`
 * @returns milliseconds since 1970
 * @throws {DeskbellError} ERR_FIELD_VALUE for what is no time, or none in this zone: when clocks go forward, an hour is left out
 */
export function readLocalTime(text: string, fields: Fields, name: string): number {
  const zone = zoneOf(fields);
  const wallMs = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/.test(text)
    ? Date.parse(text.includes('T') ? `${text}Z` : text)
    : NaN;
  // some days are no days: 31 February becomes 3 March
  if (Number.isNaN(wallMs) || !new Date(wallMs).toISOString().startsWith(text))
    throw fault(name, `"${text}" is not a time; give one such as 2027-01-01T09:00.`);
  const format = formatOf(zone);
  // Before a change of the clocks and after it; where a time comes twice, the earlier one is meant.
  const found = [wallMs - dayMs, wallMs + dayMs]
    .map((nearMs) => wallMs - (readWall(format, nearMs) - nearMs))
    .find((atMs) => readWall(format, atMs) === wallMs);
  if (found !== undefined) return found;
  throw fault(
    name,
    `${text.replace('T', ' ')} does not exist in ${zone}: the clocks go forward; give a later time.`,
  );
}

/** For the value of `<input type="datetime-local">`: `2027-01-01T09:00`. */
export function toLocalTime(atMs: number, fields: Fields): string {
  return new Date(readWall(formatOf(zoneOf(fields)), atMs)).toISOString().slice(0, 16);
}

const dayMs = 24 * 60 * 60 * 1000;

/** @throws {DeskbellError} ERR_FIELD_VALUE for what is no zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  } catch {
    throw fault(
      zoneName,
      `"${timeZone}" is not a time zone; give an IANA name such as Europe/Berlin, or UTC.`,
    );
  }
}

/** What clocks of the zone show, as if it were UTC. `2027-01-01 09:00:00` is how Sweden writes it. */
const readWall = (format: Intl.DateTimeFormat, atMs: number): number =>
  Date.parse(`${format.format(atMs).replace(' ', 'T')}Z`);

function fault(name: string, detail: string): DeskbellError {
  return new DeskbellError('ERR_FIELD_VALUE', detail, {
    fields: [{ pointer: `/${name}`, code: 'ERR_FIELD_VALUE', detail }],
  });
}
