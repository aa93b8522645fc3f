// Converts the page's times from UTC to the reader's own zone, and adds the zone's name: 2027-01-01 09:00 CET.
import { fromNow } from './from-now.ts';

const wall = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
const zone = wall.resolvedOptions().timeZone;
// Whether a zone has a name or only a number depends on the language: British English has CET, American English EST.
const zoneNames = ['en-GB', 'en-US'].map(
  (locale) => new Intl.DateTimeFormat(locale, { timeZoneName: 'short', hour: 'numeric' }),
);

export function showLocalTimes(within: ParentNode): void {
  for (const time of within.querySelectorAll('time')) {
    time.title = time.dateTime;
    time.textContent = localText(new Date(time.dateTime), time.dataset['exact'] !== undefined);
  }
  showTimesFromNow(within);
}

export function localText(date: Date, isExact: boolean): string {
  return `${wall.format(date).slice(0, isExact ? 19 : 16)} ${zoneNameOf(date)}`;
}

function zoneNameOf(date: Date): string {
  const names = zoneNames.map((format) => partOf(format, date));
  return names.find((name) => !/\d/.test(name)) ?? names[0]!;
}

const partOf = (format: Intl.DateTimeFormat, date: Date): string =>
  format.formatToParts(date).find(({ type }) => type === 'timeZoneName')!.value;

export function showTimesFromNow(within: ParentNode): void {
  for (const time of within.querySelectorAll<HTMLTimeElement>('time[data-from-now]')) {
    const words = document.createElement('span');
    words.className = 'quiet';
    words.textContent = ` · ${fromNow(Date.parse(time.dateTime) - Date.now())}`;
    const present = time.querySelector('span');
    if (present?.textContent === words.textContent) continue;
    present?.remove();
    time.append(words);
  }
}

/** Fills in the time zone for times in the form. A form that already has a time keeps its zone. */
export function fillZones(): void {
  for (const place of document.querySelectorAll('[data-zone]')) {
    const times = place
      .closest('form')
      ?.querySelectorAll<HTMLInputElement>('input[type="datetime-local"], input[type="date"]');
    if ([...(times ?? [])].some(({ value }) => value !== '')) continue;
    if (place instanceof HTMLInputElement) place.value = zone;
    else place.textContent = zone;
  }
}
